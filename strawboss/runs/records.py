"""Records of a session file: one JSON object a line, unless a crash tore a line or glued two together.

pi's loader skips what it cannot parse and goes on; so does this, and in addition it finds the whole records inside a
damaged line: every record pi writes begins with `{"type":"`, which inside a JSON text only a nested object can.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

OPENING = '{"type":"'
# Each failed attempt costs a scan of the line; a damaged line has one or two, more is no session file's doing.
ATTEMPTS = 16


class Piece(NamedTuple):
    """A part of a damaged line: a whole record as JSON, or a fragment nothing can be read from."""

    content: bytes
    whole: bool


def pieces(line: bytes) -> Iterator[Piece]:
    """The parts of a line that is no JSON by itself, in order. Bytes that are no UTF-8 read as `?`, as in pi."""
    text = line.decode("utf-8", "replace")
    read_to = 0
    for start, end, record in _whole_records(text):
        yield from _fragment(text[read_to:start])
        yield Piece(record.encode("utf-8", "replace"), whole=True)
        read_to = end
    yield from _fragment(text[read_to:])


def _fragment(text: str) -> Iterator[Piece]:
    if text.strip():
        yield Piece(text.strip().encode("utf-8", "replace"), whole=False)


def _whole_records(text: str) -> Iterator[tuple[int, int, str]]:
    """(where it begins, where it ends, the record as JSON that any decoder takes)."""
    decoder = json.JSONDecoder(parse_constant=_refuse)
    failures, start = 0, text.find(OPENING)
    while start >= 0 and failures < ATTEMPTS:
        try:
            value, end = decoder.raw_decode(text, start)
            if "parentId" in value or value["type"] == "session":  # else a block of a torn record
                yield start, end, json.dumps(value, ensure_ascii=False)
        except (ValueError, RecursionError):
            failures, end = failures + 1, start + 1
        start = text.find(OPENING, end)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
