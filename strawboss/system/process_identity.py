"""Which process a pid means: machine, pid namespace, boot, pid and start together, because pids are used again.

A pid alone proves nothing: it may belong to a stranger after a reboot, and in another container, or on another machine
that shares our files, it is not ours to look up. An identity that cannot be read, or that lies where we cannot see, is
unknown, which is neither "the same" nor "another".
"""

from __future__ import annotations

import hashlib
import os
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path

import psutil

# Two reads of one process agree to well under a clock tick (10 ms).
START_TOLERANCE_SECONDS = 0.05
BOOT_ID_FILE = Path("/proc/sys/kernel/random/boot_id")
MACHINE_ID_FILES = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
LINUX = sys.platform.startswith("linux")


class Liveness(Enum):
    SAME = "alive"
    GONE = "gone"
    OTHER = "another process has its pid"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """`started`: seconds since boot, or since the epoch where the system has no boot id and `boot` is empty.

    `namespace` and `machine` say where the pid means anything; empty where the system does not tell.
    """

    pid: int
    started: float
    boot: str = ""
    namespace: str = ""
    machine: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """What this process can see. `sees`: the process list it reads is that of its own pid namespace."""

    boot: str
    namespace: str
    machine: str
    sees: bool


def here() -> Place:
    """The place of this process."""
    return _place(os.getpid())


def identify(pid: int) -> ProcessIdentity | None:
    """The identity of a living process; None when it is gone, or may not or cannot be seen."""
    place = here()
    try:
        started, _ = _started_and_ended(pid)
    except psutil.Error:
        return None
    return ProcessIdentity(pid, started, place.boot, place.namespace, place.machine) if place.sees else None


def liveness(identity: ProcessIdentity) -> Liveness:
    """Whether that very process still runs. A zombie is gone: it can do no more work."""
    place = here()
    if identity.boot != place.boot:
        # This machine before it was started anew, or a machine whose processes we cannot see.
        same_machine = bool(identity.machine) and identity.machine == place.machine
        return Liveness.GONE if same_machine else Liveness.UNKNOWN
    if identity.namespace != place.namespace or not place.sees:
        return Liveness.UNKNOWN
    try:
        started, ended = _started_and_ended(identity.pid)
    except psutil.NoSuchProcess:
        return Liveness.GONE
    except psutil.Error:
        return Liveness.UNKNOWN
    if abs(started - identity.started) > START_TOLERANCE_SECONDS:
        return Liveness.OTHER
    return Liveness.GONE if ended else Liveness.SAME


def _started_and_ended(pid: int) -> tuple[float, bool]:
    """When it started, and whether it is a zombie. Raises psutil.Error."""
    if boot_id():
        return _from_proc(pid)
    process = psutil.Process(pid)
    return process.create_time(), process.status() == psutil.STATUS_ZOMBIE


def _from_proc(pid: int) -> tuple[float, bool]:
    # One read instead of psutil's five. A start is counted from boot: as a date it would move with the wall clock.
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:  # noqa: PTH123 - asked ten thousand times a look
            fields = file.read(4096).rpartition(b")")[2].split()
        return int(fields[19]) / _ticks(), fields[0] in (b"Z", b"X")
    except (FileNotFoundError, ProcessLookupError):
        raise psutil.NoSuchProcess(pid) from None
    except (OSError, ValueError, IndexError):
        raise psutil.AccessDenied(pid) from None


@cache
def _ticks() -> int:
    return os.sysconf("SC_CLK_TCK")


@cache
def _place(pid: int) -> Place:
    # By pid: a fork may be the first of a new namespace.
    namespace, sees = "", True
    if LINUX:
        with suppress(OSError):
            namespace = str(Path("/proc/self/ns/pid").readlink())
        sees = _proc_is_ours(pid)
    return Place(boot_id(), namespace, machine_id(), sees)


def _proc_is_ours(pid: int) -> bool:
    # In a new pid namespace without a mount of its own, /proc is still that of the old one: other pids, other processes.
    try:
        return Path("/proc/self").readlink() == Path(str(pid))
    except OSError:
        return False


@cache
def boot_id() -> str:
    """The kernel's id of this boot, or an empty string. Read once: no process outlives its boot."""
    try:
        return BOOT_ID_FILE.read_text().strip()
    except OSError:
        return ""


@cache
def machine_id() -> str:
    """A digest of the machine's id and host name (images that were cloned share the id); empty when it has none."""
    for file in MACHINE_ID_FILES:
        with suppress(OSError, UnicodeDecodeError):
            if text := file.read_text().strip():
                return hashlib.sha256(f"strawboss {text} {socket.gethostname()}".encode()).hexdigest()[:16]
    return ""
