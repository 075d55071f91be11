"""The end of a session file, read backwards until it holds the last assistant message of the active branch.

The file may be a gigabyte and its last record nine megabytes (docs/design.md#budgets), so it is
read in pieces, small ones first, and each byte is read and decoded once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import FileIO

from strawboss.recovery.evidence import Entry, Tail
from strawboss.recovery.verdict import Unknown
from strawboss.runs.entry import decode_entry
from strawboss.runs.foreign_files import open_regular, unreadable
from strawboss.runs.header import read_session_id
from strawboss.runs.records import Piece, pieces

WHAT = "its session file"
FIRST_PIECE = 256 * 1024
LARGEST_PIECE = 2 * 1024 * 1024
LIMIT = 1024 * 1024 * 1024
LONGEST = 64 * 1024 * 1024  # of one line, which is held in memory

# None stands for what is there and cannot be read.
Read = list[Entry | None]


class TooMuchError(Exception):
    """Which size of a session file was too much."""


def read_tail(path: str) -> Tail | Unknown:
    """Unknown: missing, not a session, unreadable, or too much of it after its last assistant message."""
    try:
        with open_regular(path, follow=True) as file:
            session_id, status = read_session_id(file), os.fstat(file.fileno())
            if isinstance(session_id, Unknown):
                return Unknown(f"{WHAT} {session_id.why}")
            read = _last_turn(file, status.st_size)
    except FileNotFoundError:
        return Unknown(f"{WHAT} is not there")
    except TooMuchError as error:
        return Unknown(f"{WHAT} {error}")
    except (OSError, ValueError) as error:
        return unreadable(WHAT, error)
    torn = bool(read) and read[-1] is None
    entries = tuple(entry for entry in read if entry is not None)
    return Tail(session_id, entries, torn, status.st_size, status.st_mtime)


def _last_turn(file: FileIO, end: int) -> Read:
    read: list[Read] = []  # the last piece first
    branch = _Branch()
    for lines in _backwards(file, end):
        read.append([entry for line in lines for entry in _entries(line)])
        if branch.reaches_assistant(read[-1]):
            break
    return [entry for piece in reversed(read) for entry in piece]


def _backwards(file: FileIO, end: int) -> Iterator[list[bytes]]:
    """The lines that are whole now, oldest first; pieces go from the end to the start.

    Raises TooMuchError after `LIMIT` bytes, and where a line is longer than `LONGEST`.
    """
    start, size = end, FIRST_PIECE
    later: list[bytes | memoryview] = []  # of the line the last piece began in; joined once, when it is whole
    while start > 0:
        if end - start >= LIMIT:
            raise TooMuchError(f"has no assistant message in its last {LIMIT >> 20} MiB")
        begin = max(0, start - size)
        piece = _read_at(file, begin, start - begin)
        cut = piece.find(b"\n") + 1 if begin else 0
        if cut or not begin:
            yield b"".join([memoryview(piece)[cut:], *later]).split(b"\n")
            later = [piece[: cut - 1]] if cut else []
        elif sum(map(len, later)) > LONGEST:
            raise TooMuchError(f"has a line of more than {LONGEST >> 20} MiB")
        else:
            later.insert(0, piece)
        start, size = begin, min(size * 2, LARGEST_PIECE)


def _read_at(file: FileIO, start: int, length: int) -> bytes:
    file.seek(start)
    parts = []
    while length > 0 and (part := file.read(length)):
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _entries(line: bytes) -> Iterator[Entry | None]:
    if not line or line.isspace():
        return
    if not line.strip(b"\0"):
        yield None  # quickly: a hole may be megabytes
        return
    entry = _decoded(line)
    for read in [entry] if entry else map(_decoded_piece, pieces(line)):
        if read is None or read.kind != "session":
            yield read


def _decoded(content: bytes) -> Entry | None:
    try:
        return decode_entry(content)
    except (ValueError, RecursionError):
        return None


def _decoded_piece(piece: Piece) -> Entry | None:
    return _decoded(piece.content) if piece.whole else None


@dataclass(slots=True)
class _Branch:
    """How far the branch of the last entry is known, piece by piece from the end. `at`: its oldest known entry."""

    known: dict[str, Entry] = field(default_factory=dict)
    taken_back: set[str] = field(default_factory=set)
    at: Entry | None = None

    def reaches_assistant(self, earlier: Read) -> bool:
        """Whether it is known back to its last assistant message, or to its beginning, with these entries too."""
        for entry in reversed(earlier):
            if entry is not None:
                self.at = self.at or entry
                self.known.setdefault(entry.id, entry)
        while self.at is not None:
            self.taken_back.add(self.at.edits)
            if self.at.parent is None or self._ends_with(self.at):
                return True
            parent = self.known.pop(self.at.parent, None)  # popped: parents that go round in a circle end
            if parent is None:
                return False
            self.at = parent
        return False

    def _ends_with(self, entry: Entry) -> bool:
        return entry.role == "assistant" and entry.id not in self.taken_back
