"""The end of a session file, read backwards until it holds the last assistant message of the active branch.

The file may be a gigabyte and its last record nine megabytes (spec/1, "the last chunk of it, which grows"; DESIGN
section 11), so it is read in pieces, small ones first, and each byte is read and decoded once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
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
LIMIT = 64 * 1024 * 1024

# None stands for what is there and cannot be read.
Read = list[Entry | None]


def read_tail(path: str) -> Tail | Unknown:
    """Unknown: missing, not a session, unreadable, or no assistant message within the last `LIMIT` bytes."""
    try:
        with open_regular(path, follow=True) as file:
            session_id = read_session_id(file)
            if isinstance(session_id, Unknown):
                return Unknown(f"{WHAT} {session_id.why}")
            read = _last_turn(file, os.fstat(file.fileno()).st_size)
    except FileNotFoundError:
        return Unknown(f"{WHAT} is not there")
    except (OSError, ValueError) as error:
        return unreadable(WHAT, error)
    if read is None:
        return Unknown(f"{WHAT} has no assistant message in its last {LIMIT >> 20} MiB")
    return Tail(session_id, _readable(read), torn=bool(read) and read[-1] is None)


def _last_turn(file: FileIO, end: int) -> Read | None:
    """None: the limit came first."""
    read: Read = []
    for start, lines in _backwards(file, end):
        read = [entry for line in lines for entry in _entries(line)] + read
        if start == 0 or _reaches_assistant(_readable(read)):
            return read
    return None


def _backwards(file: FileIO, end: int) -> Iterator[tuple[int, list[bytes]]]:
    """Where the piece begins and the lines that are whole now, oldest first; pieces go from the end to the start."""
    start, size = end, FIRST_PIECE
    later: list[bytes | memoryview] = []  # of the line the last piece began in; joined once, when it is whole
    while start > 0 and end - start < LIMIT:
        begin = max(0, start - size)
        piece = _read_at(file, begin, start - begin)
        cut = piece.find(b"\n") + 1 if begin else 0
        if cut or not begin:
            yield begin, b"".join([memoryview(piece)[cut:], *later]).split(b"\n")
            later = [piece[: cut - 1]] if cut else []
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


def _reaches_assistant(entries: Sequence[Entry]) -> bool:
    """Whether the branch of the last entry is known back to its last assistant message, or to its beginning."""
    known = {entry.id: entry for entry in entries}
    entry = entries[-1] if entries else None
    taken_back = set()
    while entry is not None:
        taken_back.add(entry.edits)
        if entry.parent is None or (entry.role == "assistant" and entry.id not in taken_back):
            return True
        entry = known.pop(entry.parent, None)  # popped: parents that go round in a circle end
    return False


def _readable(read: Read) -> tuple[Entry, ...]:
    return tuple(entry for entry in read if entry is not None)
