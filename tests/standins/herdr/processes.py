"""The live process table of Linux, as far as herdr reads it: who is in a terminal's foreground, who is in its session."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Any

GRACE_SECONDS = 0.25
POLL_SECONDS = 0.005
# Fields of /proc/<pid>/stat after the command name, which may itself hold spaces and parentheses.
STATE, PARENT, GROUP, SESSION, _TTY, FOREGROUND = range(6)


def stat_fields(pid: int) -> list[str]:
    """Empty when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def all_pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def foreground_group(shell: int) -> int | None:
    """The process group that owns the shell's terminal."""
    fields = stat_fields(shell)
    group = int(fields[FOREGROUND]) if fields else -1
    return group if group > 0 else None


def foreground_processes(shell: int) -> list[dict[str, Any]]:
    """herdr's entries for the foreground group: its members in the trees under shell and leader, by pid."""
    group = foreground_group(shell)
    if group is None:
        return []
    tree = sorted(_descendants(shell) | _descendants(group))
    members = [pid for pid in tree if (fields := stat_fields(pid)) and int(fields[GROUP]) == group]
    return [told for told in map(entry, members) if told["name"]]  # the others have ended meanwhile


def entry(pid: int) -> dict[str, Any]:
    arguments = [part for part in _read(pid, "cmdline").split("\0") if part]
    told: dict[str, Any] = {"pid": pid, "name": _read(pid, "comm").strip()}
    if arguments:
        told |= {"argv": arguments, "cmdline": " ".join(arguments)}
    if cwd := working_directory(pid):
        told["cwd"] = cwd
    return told


def working_directory(pid: int) -> str | None:
    try:
        return str(Path(f"/proc/{pid}/cwd").readlink())
    except OSError:
        return None


def is_pi(process: dict[str, Any]) -> bool:
    """herdr's detection: by command name, by argv0, by the script node runs, or by the mark `HERDR_AGENT=pi`."""
    argv = process.get("argv", [])
    names = {process["name"], *(Path(word).name for word in argv[:2])}
    return "pi" in names or "HERDR_AGENT=pi" in _read(process["pid"], "environ").split("\0")


def end_session(shell: int) -> None:
    """SIGHUP, SIGTERM, SIGKILL to all that is left of the shell's session, a quarter of a second of grace each."""
    for step in (signal.SIGHUP, signal.SIGTERM, signal.SIGKILL):
        for pid in session_members(shell):
            _signal(pid, step)
        if _ended(shell, time.monotonic() + GRACE_SECONDS):
            return


def session_members(shell: int) -> list[int]:
    """Living processes; whoever left by setsid is not among them."""
    found = []
    for pid in all_pids():
        fields = stat_fields(pid)
        if fields and int(fields[SESSION]) == shell and fields[STATE] not in "ZX":
            found.append(pid)
    return found


def _ended(shell: int, deadline: float) -> bool:
    while session_members(shell):
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _descendants(pid: int) -> set[int]:
    found, waiting = set(), [pid]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += _children(one)
    return found


def _children(pid: int) -> list[int]:
    try:
        threads = [entry.name for entry in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return []
    return [int(child) for thread in threads for child in _read(pid, f"task/{thread}/children").split()]


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    except OSError:
        return ""
