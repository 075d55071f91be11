"""The launcher's session file, read once: every later look costs the bytes that came since.

pi only appends, so the place reached is remembered together with the bytes just before it. A file that is another one,
shorter, or different there was replaced or cut and is read again from the beginning.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from io import FileIO

from strawboss.recovery.evidence import Transcript
from strawboss.recovery.verdict import Unknown
from strawboss.runs.foreign_files import open_regular, unreadable
from strawboss.runs.header import read_session_id
from strawboss.runs.lines import marked, whole_lines
from strawboss.runs.results_and_keys import CLUES, MARKS, Findings, matters

WHAT = "the launcher's session file"
FINGERPRINT = 512


@dataclass(slots=True)
class _Place:
    """How far which file was read: `offset` is the end of a whole line, `before` the bytes that end there."""

    inode: tuple[int, int]
    findings: Findings
    offset: int = 0
    before: bytes = b""


class TranscriptReader:
    """`session_id`: the launcher's; a file whose header has another is Unknown. None: any."""

    def __init__(self, path: str, resolve: Callable[[str], str], session_id: str | None = None) -> None:
        self._path, self._resolve, self._session_id = path, resolve, session_id
        self._place: _Place | None = None

    def read(self) -> Transcript | Unknown:
        try:
            with open_regular(self._path, follow=True) as file:
                return self._read(file, os.fstat(file.fileno()))
        except FileNotFoundError:
            return Unknown(f"{WHAT} is not there yet")
        except (OSError, ValueError) as error:
            self._place = None  # a line may have been taken in part
            return unreadable(WHAT, error)

    def _read(self, file: FileIO, status: os.stat_result) -> Transcript | Unknown:
        if self._place is None or not _is_continued(file, status, self._place):
            obstacle, self._place = self._obstacle(file), None
            if obstacle:
                return obstacle
            self._place = _Place((status.st_dev, status.st_ino), Findings(self._resolve))
        unfinished = _read_on(file, status.st_size, self._place)
        if not unfinished:
            return self._place.findings.freeze()
        # What is not ended by a newline is read for this look only: it may still grow.
        with_unfinished = self._place.findings.copy()
        with_unfinished.take(unfinished)
        return with_unfinished.freeze()

    def _obstacle(self, file: FileIO) -> Unknown | None:
        session_id = read_session_id(file)
        if isinstance(session_id, Unknown):
            return Unknown(f"{WHAT} {session_id.why}")
        if self._session_id is not None and session_id != self._session_id:
            return Unknown(f"{WHAT} belongs to another session")
        return None


def _is_continued(file: FileIO, status: os.stat_result, place: _Place) -> bool:
    if (status.st_dev, status.st_ino) != place.inode or status.st_size < place.offset:
        return False
    file.seek(place.offset - len(place.before))
    return file.read(len(place.before)) == place.before


def _read_on(file: FileIO, end: int, place: _Place) -> bytes:
    """Read the whole lines after `place`, moving it; returns the unfinished last line."""
    for offset, block in whole_lines(file, place.offset, end, CLUES + MARKS):
        if not block.endswith(b"\n"):
            return block
        for line in filter(matters, marked(block, CLUES)):
            place.findings.take(line)
        place.offset, place.before = offset, block[-FINGERPRINT:]
    return b""
