"""One door for everything that looks can be read from: a recorded moment, a case, a tape, an incident."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from strawboss.tape.cases import open_fixture
from strawboss.tape.look_interface import Evidence, NotARecordingError
from strawboss.tape.moment import is_moment, open_recording
from strawboss.tape.reader import read_session, read_tape
from strawboss.tape.shelf import segments_of

BEGINNING = b'{"format":'
KINDS = "a moment's directory or a folder of them, a tape, an incident, or a case that ends in .json"


def open_looks(path: Path, launcher: str | None = None, platform: str | None = None) -> Iterator[Evidence]:
    """The looks of a file or directory. Raises NotARecordingError: what it is instead, or that it holds none.

    `launcher`: a session id, when a moment has several; `platform`: as if on that system (not for a tape).
    """
    looks = _open(path, launcher, platform)
    try:
        first = next(looks)
    except StopIteration:
        raise NotARecordingError(f"{path}: it holds no looks") from None
    if launcher not in (None, first.launcher.id):
        raise NotARecordingError(f"{path}: no launcher {launcher}; it is told of {first.launcher.id}")
    return chain([first], looks)


def _open(path: Path, launcher: str | None, platform: str | None) -> Iterator[Evidence]:
    if path.is_dir():
        if segments_of(path):
            return iter(read_session(path))
        return iter(_moments(path, launcher, platform or "linux"))
    if _begins_as_a_tape(path):
        return iter(read_tape(path))
    if path.suffix == ".json":
        return iter(open_fixture(path, platform))
    if path.exists():
        raise NotARecordingError(f"{path}: holds no looks; give {KINDS}")
    raise NotARecordingError(f"{path}: no such directory or file; give {KINDS}")


def _moments(directory: Path, launcher: str | None, platform: str) -> list[Evidence]:
    """One moment, or a folder of them, in the order of their names. The last one stands: a proof needs it twice."""
    inside = sorted(path for path in directory.iterdir() if is_moment(path))
    if is_moment(directory) or not inside:
        return [open_recording(directory, launcher, platform)]
    return [open_recording(moment, launcher, platform) for moment in (*inside, inside[-1])]


def _begins_as_a_tape(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(BEGINNING)) == BEGINNING
    except OSError:
        return False
