"""What the core may not touch. Who may import whom is in pyproject.toml, held by `lint-imports`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "strawboss"
CORE = sorted((PACKAGE / "recovery").rglob("*.py"))

# All the core needs of the standard library: shapes and words. Everything that touches the world is elsewhere.
PURE = frozenset(
    {
        "__future__",
        "collections",
        "collections.abc",
        "dataclasses",
        "datetime",
        "enum",
        "json",
        "re",
        "typing",
    }
)
# Built in, so never imported, and not pure.
WORLDLY = frozenset(
    {"open", "print", "input", "exec", "eval", "__import__", "breakpoint", "globals", "id", "hash"}
)
# Methods of pure modules that ask the clock or the machine's time zone.
CLOCKS = frozenset({"now", "today", "utcnow", "astimezone", "localtime"})

LONGEST_MODULE = 353  # lines


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            yield node.module or ""
            yield from (f"{node.module}.{name.name}" for name in node.names if node.module == "strawboss")


def parse(path: Path) -> ast.AST:
    return ast.parse(path.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", CORE, ids=name_of)
def test_the_core_imports_itself_and_nothing_that_touches_the_world(path: Path) -> None:
    foreign = {
        module
        for module in imported(parse(path))
        if module not in PURE and not module.startswith("strawboss.recovery") and module != "strawboss"
    }
    assert foreign == set()


@pytest.mark.parametrize("path", CORE, ids=name_of)
def test_the_core_asks_no_clock_and_no_builtin_that_does(path: Path) -> None:
    used = set()
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                used.add(node.func.id)
            elif isinstance(node.func, ast.Attribute) and node.func.attr in CLOCKS:
                used.add(f".{node.func.attr}")
    assert used & WORLDLY == set()
    assert not {name for name in used if name.startswith(".")}


def test_modules_stay_small() -> None:
    sizes = {name_of(path): len(path.read_text("utf-8").splitlines()) for path in PACKAGE.rglob("*.py")}
    assert {name: lines for name, lines in sizes.items() if lines > LONGEST_MODULE} == {}
