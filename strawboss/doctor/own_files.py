"""The state directory and its locks."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from strawboss.doctor.finding import Finding, Health, Patient
from strawboss.system.lock import Lock


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
    """Tries a lock that is there for real: some network file systems only pretend. A try changes nothing on the disk."""
    directory = patient.state / "locks"
    try:
        tried = [_excludes(file) for file in directory.glob("*.lock")]
    except OSError as error:
        text = f"no lock can be taken in {directory} ({error.strerror})"
        return Finding("lock", Health.FIX, text, "set paths.state elsewhere")
    if not tried:
        return Finding("lock", Health.OK, f"none in {directory} yet: the first session makes it")
    if not all(tried):
        text = f"locks in {directory} exclude nobody"
        return Finding("lock", Health.FIX, text, "set paths.state to a local disk")
    return Finding("lock", Health.OK, "locks work")


def _excludes(file: Path) -> bool:
    """Whether it is somebody else's, or ours alone once we have it. Raises OSError."""
    first, second = Lock(file), Lock(file)
    try:
        return not first.take() or not second.take()
    finally:
        first.release()
        second.release()
