"""Lines for people: printable, wrapped at the terminal's width; and JSON, one object a line."""

from __future__ import annotations

import shutil
import sys
import textwrap

import msgspec

from strawboss.system.printable import printable

NARROWEST = 40


def say(text: str, indent: str = "", hanging: str = "") -> None:
    """One paragraph. `hanging`: how much further its second line begins."""
    width = max(shutil.get_terminal_size().columns, NARROWEST)
    lines = textwrap.wrap(
        printable(text),
        width,
        initial_indent=indent,
        subsequent_indent=indent + hanging,
        break_on_hyphens=False,
        break_long_words=False,
    )
    print("\n".join(lines))


def say_text(text: str, indent: str) -> None:
    """Several paragraphs, one a line."""
    for line in text.splitlines():
        say(line, indent)


def print_json(data: object) -> None:
    sys.stdout.write(msgspec.json.encode(data).decode() + "\n")
