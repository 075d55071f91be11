"""Lines of a screen: wrapped between words, coloured by meaning. Text in them is data: nothing of it is obeyed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from strawboss.system.printable import printable


class Colour(Enum):
    """By what a line means. The value: as a terminal is told."""

    PLAIN = ""
    TITLE = "1"
    NEEDS = "31;1"
    DONE = "32"
    UNDER_WAY = "33"
    QUIET = "2"
    COMMAND = "36"


@dataclass(frozen=True, slots=True)
class Line:
    """`indent`: columns before it; lines it is continued on are two further in. `joint`: what ends a line that is
    continued, so that a command can still be copied."""

    text: str
    colour: Colour = Colour.PLAIN
    indent: int = 0
    joint: str = ""


def drawn(line: Line, width: int | None, *, colours: bool) -> Iterator[str]:
    """`width`: columns; None: a line is a line."""
    code = line.colour.value if colours else ""
    for part in wrapped(line.text, line.indent, width, line.joint):
        yield f"\x1b[{code}m{part}\x1b[0m" if code else part


def wrapped(text: str, indent: int, width: int | None, joint: str = "") -> list[str]:
    """The words in lines of at most `width` columns; no word is broken, so one that is longer makes a longer line."""
    words = re.findall(r" *[^ ]+", printable(text))
    lines: list[str] = []
    line = " " * indent + (words[0].lstrip() if words else "")
    for number, word in enumerate(words[1:], 2):
        room = columns(joint) if number < len(words) else 0
        if width is not None and columns(line + word) + room > width:
            lines.append(line + joint)
            line = " " * (indent + 2) + word.lstrip()
        else:
            line += word
    return [*lines, line]


def columns(text: str) -> int:
    """How many columns of a terminal the text takes."""
    return sum(map(_columns, text)) if not text.isascii() else len(text)


def _columns(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def cut(text: str, limit: int) -> str:
    """The beginning of a text that is too long for its place."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def joined(lines: Iterable[Line], width: int | None, *, colours: bool) -> list[str]:
    return [part for line in lines for part in drawn(line, width, colours=colours)]
