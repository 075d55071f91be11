"""Which process a pid means: pid, start time and boot together, because pids are used again.

A pid alone proves nothing (it may belong to a stranger after a reboot), and an identity that cannot be read is
unknown, which is neither "the same" nor "another".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path

import psutil

# Two reads of one process agree to well under a clock tick (10 ms).
START_TOLERANCE_SECONDS = 0.05
BOOT_ID_FILE = Path("/proc/sys/kernel/random/boot_id")


class Liveness(Enum):
    SAME = "alive"
    GONE = "gone"
    OTHER = "another process has its pid"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """`started`: seconds since boot, or since the epoch where the system has no boot id and `boot` is empty."""

    pid: int
    started: float
    boot: str = ""


def identify(pid: int) -> ProcessIdentity | None:
    """The identity of a living process; None when it is gone or may not be asked."""
    try:
        return ProcessIdentity(pid, _started(psutil.Process(pid)), boot_id())
    except psutil.Error:
        return None


def liveness(identity: ProcessIdentity) -> Liveness:
    """Whether that very process still runs. A zombie is gone: it can do no more work."""
    if identity.boot and boot_id() and identity.boot != boot_id():
        return Liveness.GONE
    try:
        process = psutil.Process(identity.pid)
        started, status = _started(process), process.status()
    except psutil.NoSuchProcess:
        return Liveness.GONE
    except psutil.Error:
        return Liveness.UNKNOWN
    if abs(started - identity.started) > START_TOLERANCE_SECONDS:
        return Liveness.OTHER
    return Liveness.GONE if status == psutil.STATUS_ZOMBIE else Liveness.SAME


def _started(process: psutil.Process) -> float:
    # On Linux a start is counted from boot; as a date it would move with every step of the wall clock.
    started: float = process.create_time()
    return started - psutil.boot_time() if boot_id() else started


@cache
def boot_id() -> str:
    """The kernel's id of this boot, or an empty string. Read once: no process outlives its boot."""
    try:
        return BOOT_ID_FILE.read_text().strip()
    except OSError:
        return ""
