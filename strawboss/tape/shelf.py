"""Where tapes lie: a directory a session, numbered segments in it, bounded in bytes and days.

tapes/<session>/000001.jsonl   a segment, the newest has the highest number
tapes/<session>/last.json      what the last look reported
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from strawboss.system.files import FILE_MODE, make_private_directory

TAPES = "tapes"  # in the state directory
MIB = 1024 * 1024
DAY_SECONDS = 86_400
SEGMENTS = 4  # a session's bytes are so many segments: the oldest goes as a whole
BLOCK = 4096  # what the smallest file takes on a disk
LAST = "last.json"
PATTERN = "[0-9]*.jsonl"


@dataclass(frozen=True, slots=True)
class Limits:
    """`session`, `total`: bytes of one session's tape and of all; nothing is kept where `session` is 0."""

    session: int = 16 * MIB
    total: int = 256 * MIB
    days: float = 30

    @property
    def segment(self) -> int:
        return self.session // SEGMENTS


@dataclass(frozen=True, slots=True)
class Kept:
    """A segment on the disk."""

    file: Path
    size: int
    changed: float  # epoch seconds


def segments_of(session: Path) -> list[Path]:
    """A session's segments, oldest first."""
    return sorted(session.glob(PATTERN))


def newest_segment(session: Path) -> Path | None:
    """By number, without a sort: this is asked for every launcher of a user."""
    return max(session.glob(PATTERN), default=None)


class Segment:
    """A session's newest segment, to be written. It stays open: to open it at each look is what costs a quiet one most."""

    def __init__(self, session: Path) -> None:
        """An empty one after all others; raises OSError."""
        make_private_directory(session)
        newest = newest_segment(session)
        number = int(newest.stem) + 1 if newest else 1
        self.file = session / f"{number:06}.jsonl"
        self._descriptor = _open(self.file, os.O_CREAT | os.O_EXCL | os.O_APPEND)

    def is_there(self) -> bool:
        """Whether nobody has deleted it; raises OSError."""
        return os.fstat(self._descriptor).st_nlink > 0

    def append(self, content: bytes) -> None:
        """All of it at the end, and no more than handed to the system; raises OSError."""
        _write(self._descriptor, content)

    def close(self) -> None:
        os.close(self._descriptor)


def replace_unsynced(file: Path, content: bytes) -> None:
    """Another content for a private file, whole or not at all; only a power cut may cost it. Raises OSError."""
    new = file.with_name(f".{file.name}.new")
    descriptor = _open(new, os.O_CREAT | os.O_TRUNC)
    try:
        _write(descriptor, content)
    finally:
        os.close(descriptor)
    new.replace(file)


def _open(file: Path, flags: int) -> int:
    return os.open(file, os.O_WRONLY | getattr(os, "O_BINARY", 0) | flags, FILE_MODE)


def _write(descriptor: int, content: bytes) -> None:
    if os.write(descriptor, content) != len(content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def prune(shelf: Path, session: Path, limits: Limits, size: int, now: float | None = None) -> None:
    """Make room for so many bytes of that session: what is too old goes, then the oldest of what is too much."""
    kept = list(_all_kept(shelf))
    oldest = (time.time() if now is None else now) - limits.days * DAY_SECONDS
    _drop(one for one in kept if one.changed < oldest)
    fresh = [one for one in kept if one.changed >= oldest]
    _drop_beyond([one for one in fresh if one.file.parent == session], limits.session - size)
    _drop_beyond(fresh, limits.total - size)
    _remove_empty(shelf, session)


def _all_kept(shelf: Path) -> Iterable[Kept]:
    for file in shelf.glob(f"*/{PATTERN}"):
        with suppress(OSError):
            facts = file.stat()
            yield Kept(file, max(facts.st_size, BLOCK), facts.st_mtime)


def _drop_beyond(kept: list[Kept], limit: int) -> None:
    room = limit
    for one in sorted(kept, key=lambda one: (one.changed, one.file), reverse=True):
        room -= one.size
        if room < 0:
            _drop([one])


def _drop(kept: Iterable[Kept]) -> None:
    for one in kept:
        with suppress(OSError):
            one.file.unlink()


def _remove_empty(shelf: Path, session: Path) -> None:
    for directory in shelf.iterdir():
        if directory != session and newest_segment(directory) is None:
            with suppress(OSError):
                (directory / LAST).unlink(missing_ok=True)
                directory.rmdir()
