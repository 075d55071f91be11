"""What this machine's own list of processes says."""

from strawboss.machine.processes import ProcessList

__all__ = ["ProcessList"]
