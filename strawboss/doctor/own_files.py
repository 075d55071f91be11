"""The state directory and its locks."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import filelock

from strawboss.doctor.finding import Finding, Health, Patient

NOT_YET = "a process starts with a session's first subagent; /strawboss in pi tells whether it is off"


def permissions(patient: Patient) -> Finding:
    state = patient.state
    if not state.exists():
        return _to_be_made(state)
    try:
        open_to_others = [path for path in [state, *state.rglob("*")] if _is_open_to_others(path)]
    except OSError as error:
        return Finding(
            "files", Health.FIX, f"{state} cannot be used ({error.strerror})", f"make {state} yours"
        )
    if not os.access(state, os.W_OK):
        return Finding("files", Health.FIX, f"{state} cannot be written", f"make {state} yours")
    if open_to_others:
        fix = f"run `chmod -R go-rwx {state}`"
        return Finding("files", Health.FIX, f"others may read {open_to_others[0]}", fix)
    return Finding("files", Health.OK, f"{state} is private")


def _to_be_made(state: Path) -> Finding:
    above = next((one for one in state.parents if one.exists()), state.parent)
    if above.is_dir() and os.access(above, os.W_OK | os.X_OK):
        return Finding("files", Health.OK, f"no {state} yet: the first session makes it")
    return Finding(
        "files", Health.FIX, f"{state} cannot be made in {above}", f"make {above} a directory of yours"
    )


def _is_open_to_others(path: Path) -> bool:
    return (
        sys.platform != "win32"
        and bool(path.lstat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))
        and not path.is_symlink()
    )


def locks(patient: Patient) -> Finding:
    """Tries the lock for real: some network file systems only pretend. Nothing of it stays."""
    directory = patient.state / "locks"
    if not directory.exists() and not patient.state.is_file():
        return Finding("lock", Health.OK, f"no {directory} yet: the first session makes it ({NOT_YET})")
    held = sum(_is_held(file) for file in directory.glob("*.lock"))
    probe = directory / ".doctor.lock"
    try:
        with filelock.FileLock(probe, timeout=0):
            excludes = _is_held(probe)
        probe.unlink(missing_ok=True)
    except (OSError, NotImplementedError, filelock.Timeout) as error:
        return Finding(
            "lock", Health.FIX, f"no lock can be taken in {directory} ({error})", "set paths.state elsewhere"
        )
    if not excludes:
        return Finding(
            "lock", Health.FIX, f"locks in {directory} exclude nobody", "set paths.state to a local disk"
        )
    watched = (
        f"{held} sessions are being watched now" if held else f"no session is being watched now ({NOT_YET})"
    )
    return Finding("lock", Health.OK, f"locks work; {watched}")


def _is_held(file: Path) -> bool:
    lock = filelock.FileLock(file, timeout=0, thread_local=False)
    try:
        with lock:
            return False
    except filelock.Timeout:
        return True
    except OSError:
        return False
