"""Whether anybody looks at a launcher's runs: its lock, its last look, its pi."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from strawboss.machine import ProcessList
from strawboss.overview.seen import Watch
from strawboss.pi.protocol import SILENT_LOOKS
from strawboss.recovery.evidence import Identity
from strawboss.recovery.memory import JUMP_SECONDS
from strawboss.tape.last import LastLook


@dataclass(frozen=True, slots=True)
class Patience:
    """`now`: epoch seconds. `interval`: seconds between two looks. Nothing hangs or has stopped that is only late."""

    now: float
    interval: float

    def is_late(self, since: float) -> bool:
        return self.now - since > max(SILENT_LOOKS * self.interval, JUMP_SECONDS)


def watch_of(
    last: LastLook, *, locked: bool, elsewhere: Collection[int], patience: Patience, machine: ProcessList
) -> Watch:
    """`locked`: its lock is held. `elsewhere`: pids of the pi whose sessions are looked at: they have left this one."""
    late = patience.is_late(last.looked_at)
    if locked:
        return Watch.HUNG if late else Watch.LOOKING
    pid = last.launcher.pid
    if pid is None or pid in elsewhere or not is_there(pid, last.looked_at, machine):
        return Watch.CLOSED
    return Watch.STOPPED if late else Watch.UNSEEN


def is_there(pid: int, at: float, machine: ProcessList) -> bool:
    """Whether the process that had the pid at that time (epoch seconds) still runs."""
    started = started_at(pid, machine)
    return started is not None and started <= at


def started_at(pid: int, machine: ProcessList) -> float | None:
    """Epoch seconds; None when no living process has the pid, or it may not be asked."""
    if not isinstance(machine.identify(pid), Identity):
        return None
    import psutil  # most launchers never need it

    try:
        created: float = psutil.Process(pid).create_time()
    except psutil.Error:
        return None
    return created
