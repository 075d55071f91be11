"""docs/state-machines.md: the picture of each machine's table, and every number that decides, from the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from strawboss.recovery.look import MACHINES
from strawboss.recovery.proof import mermaid

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("recovery/**/*.py", "pi/protocol.py", "resident/effects.py", "resident/process.py")
HEAD = ("| number | value | what | where |", "|---|---|---|---|")
COMMENT = re.compile(r"#\s*(.+)$", re.MULTILINE)


def page(text: str) -> str:
    """The page with what is drawn from the code put in its place."""
    for machine in MACHINES:
        text = _put(text, rf"## {machine.name}\n.*?```mermaid\n", f"{mermaid(machine.table)}\n", "```")
    return _put(text, r"## Numbers\n.*?\n(?=\|)", "\n".join([*HEAD, *map(_row, numbers())]) + "\n", r"(?!\|)")


def _put(text: str, before: str, made: str, after: str) -> str:
    block = re.compile(rf"({before}).*?(?=^{after})", re.DOTALL | re.MULTILINE)
    return block.sub(lambda found: found[1] + made, text, count=1)


def numbers() -> Iterator[tuple[str, str, str, str]]:
    """Name, value, what it says, and its module: each number that a module names."""
    for file in (file for source in SOURCES for file in sorted((ROOT / "strawboss").glob(source))):
        for name, value, lines in _named(file.read_text("utf-8")):
            comment = COMMENT.search(lines)
            yield name, value, comment[1] if comment else "", str(file.relative_to(ROOT))


def _named(source: str) -> Iterator[tuple[str, str, str]]:
    lines = source.splitlines()
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and _is_number(node.value):
            [target] = node.targets
            written = "\n".join(lines[node.lineno - 1 : node.end_lineno])
            yield ast.unparse(target), ast.unparse(node.value), written


def _is_number(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.Constant)
        and isinstance(value.value, int | float)
        and not isinstance(value.value, bool)
    )


def _row(number: tuple[str, str, str, str]) -> str:
    name, value, what, where = number
    return f"| `{name}` | {value} | {what} | `{where}` |"
