"""Linux's `/proc`, read directly: psutil would cost a resident process more memory than all the rest of this."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from strawboss.machine.seen import Seen, is_pi
from strawboss.recovery.evidence import Identity

PROC = Path("/proc")
DEAD = frozenset("ZXx")  # a zombie can do no more work
STATE, START = 0, 19  # places after the name, which may hold spaces and brackets, in `stat`


def processes(proc: Path = PROC) -> Iterator[Seen]:
    """Every process but this one; raises OSError when the system shows no list. One that goes meanwhile is left out."""
    own = os.getpid()
    for entry in proc.iterdir():
        if entry.name.isdecimal() and int(entry.name) != own:
            try:
                seen = _process(entry)
            except (FileNotFoundError, ProcessLookupError):
                continue
            if seen is not None:
                yield seen


def identify(pid: int, proc: Path = PROC) -> Identity | None:
    """None: no living process has the pid. Raises OSError or ValueError when that cannot be read."""
    (proc / "self").stat()  # without a list no process is there, and nothing follows from that
    try:
        _, rest = _stat(proc / str(pid))
    except (FileNotFoundError, ProcessLookupError):
        return None
    if rest[STATE] in DEAD:
        return None
    boot = (proc / "sys/kernel/random/boot_id").read_text().strip()
    return Identity(pid, int(rest[START]) / os.sysconf("SC_CLK_TCK"), boot)


def _process(entry: Path) -> Seen | None:
    name, rest = _stat(entry)
    if rest[STATE] in DEAD:
        return None
    words = _words(entry / "cmdline")
    argv = None if words is None else tuple(words)
    seen = Seen(int(entry.name), name, entry.stat().st_uid == os.geteuid(), argv)
    if seen.mine and is_pi(name, argv):
        return replace(seen, environment=_environment(entry / "environ"))
    return seen


def _stat(entry: Path) -> tuple[str, list[str]]:
    """The name, and the words after it."""
    head, _, rest = (entry / "stat").read_text(errors="surrogateescape").rpartition(")")
    return head.partition("(")[2], rest.split()


def _words(file: Path) -> list[str] | None:
    """None where they may not be read."""
    try:
        content = file.read_bytes()
    except PermissionError:
        return None
    return [os.fsdecode(word) for word in content.split(b"\0") if word]


def _environment(file: Path) -> Mapping[str, str] | None:
    words = _words(file)
    return None if words is None else dict(word.partition("=")[::2] for word in words)
