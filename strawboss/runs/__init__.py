"""What the disk says of a run: readers of the files pi and pi-herdr-agents write. Nothing here writes.

Whatever a reader cannot understand is `Unknown` with a reason; no reader raises.
"""

from strawboss.runs.disk import Disk

__all__ = ["Disk"]
