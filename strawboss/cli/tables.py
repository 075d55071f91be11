"""Tables: drawn in a terminal, Markdown when piped. One place, so that every command looks the same."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from strawboss.system.printable import printable


def show_table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
    """Print one table to stdout. Cells are data: markup and control characters in them mean nothing."""
    if sys.stdout.isatty():
        plain = os.environ.get("NO_COLOR")  # rich by itself would still print bold
        Console(color_system=None if plain else "auto").print(terminal_table(columns, rows))
    else:
        print(markdown_table(columns, [[str(cell) for cell in row] for row in rows]))


def terminal_table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> Table:
    """A rich table; colour a cell by passing a `Text` with a style."""
    table = Table(*columns)
    for row in rows:
        table.add_row(*(_drawn(cell) for cell in row))
    return table


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """GitHub-style table, one line a row."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(_escaped(printable(cell)) for cell in line) + " |" for line in lines)


def _drawn(cell: str | Text) -> Text:
    return cell if isinstance(cell, Text) else Text(printable(cell))


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|")
