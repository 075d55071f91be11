"""The few lines of a session file that matter, found by their bytes before anything is parsed.

A transcript may be 200 MB and hold a handful of lines about runs. It is read in blocks, and only lines that bear one of
the marks go further. JSON escapes quotes inside texts, so a quoted mark is a real string, never a quotation of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import FileIO

BLOCK = 256 * 1024  # fits the processor's cache, through which every mark is searched
LONGEST = 16 * 1024 * 1024
LONGEST_MARK = 64


def whole_lines(file: FileIO, start: int, end: int, marks: tuple[bytes, ...]) -> Iterator[tuple[int, bytes]]:
    """(where it ends, block of whole lines) from `start` to `end`; only the last block may lack its newline.

    A line longer than `LONGEST` is not kept: what comes in its place cannot be parsed, and bears the marks it bore.
    """
    file.seek(start)
    pending, held = [b""], 0
    while start < end and (block := file.read(min(BLOCK, end - start))):
        cut = block.rfind(b"\n") + 1
        if cut:
            yield start + cut, b"".join([*pending, block[:cut]])
            pending, held = [], 0
        start += len(block)
        pending.append(block[cut:])
        held += len(block) - cut
        if held > LONGEST:
            pending = [_stand_in(b"".join(pending), marks)]
            held = len(pending[0])
    if held:
        yield start, b"".join(pending)


def _stand_in(line: bytes, marks: tuple[bytes, ...]) -> bytes:
    """Its beginning, which says what it is, its marks, and its end, in which a mark may have begun."""
    borne = [mark for mark in marks if mark in line]
    return b"\0".join([line[:LONGEST_MARK], *borne, line[-LONGEST_MARK:]])


def marked(block: bytes, marks: tuple[bytes, ...]) -> list[bytes]:
    """The lines of a block that bear a mark, in order."""
    found: dict[int, bytes] = {}
    for mark in marks:
        at = block.find(mark)
        while at >= 0:
            start = block.rfind(b"\n", 0, at) + 1
            end = block.find(b"\n", at) + 1 or len(block)
            found[start] = block[start:end]
            at = block.find(mark, end)
    return [found[start] for start in sorted(found)]
