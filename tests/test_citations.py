"""Whoever reads a citation finds it: each document, heading and file that is named is in this repository."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("docs", "scripts", "strawboss", "tests")
ENDINGS = frozenset({"", ".md", ".py", ".service", ".toml", ".ts"})

FILE = re.compile(
    r"(?<![\w./~-])(?:docs|fixtures|scripts|strawboss|tests)/[\w./-]*\w\.(?:json|md|py|service|ts)\b(?:#[\w-]+)?"
)
LINK = re.compile(r"\]\(([^)\s:]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)

# What was cited once and is not here: design notes, specifications, pages on other programs.
ELSEWHERE = re.compile(r"\bDESIGN\b|\bspec/\d|\binterfaces (?:of|page)\b|\binterfaces/|\bsections? \d")


def texts() -> Iterator[Path]:
    yield from sorted(ROOT.glob("*.md"))
    yield ROOT / "pyproject.toml"
    for folder in FOLDERS:
        files = (
            path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in ENDINGS and path.is_file()
        )
        yield from (path for path in files if path != Path(__file__) and "__pycache__" not in path.parts)


def said(path: Path) -> str:
    """What a file tells its reader: of a program the comments and docstrings, since a test may make up names of files."""
    text = path.read_text("utf-8")
    if path.suffix != ".py":
        return text
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return "\n".join(token.string for token in tokens if token.string.startswith(("#", '"""')))


def cited(path: Path) -> Iterator[tuple[Path, str]]:
    """Each file that a text cites, and the heading in it, or nothing."""
    text = said(path)
    links = [(path.parent, link) for link in LINK.findall(text)] if path.suffix == ".md" else []
    for base, name in [*links, *((ROOT, name) for name in FILE.findall(text))]:
        file, _, heading = name.partition("#")
        yield (base / file if file else path), heading


def headings(page: Path) -> set[str]:
    found = HEADING.findall(page.read_text("utf-8"))
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in found}


def is_here(file: Path, heading: str) -> bool:
    return file.exists() and (not heading or heading in headings(file))


def missing(path: Path) -> list[str]:
    return [
        f"{file.relative_to(ROOT)}#{heading}" for file, heading in cited(path) if not is_here(file, heading)
    ]


def test_every_document_heading_and_file_that_is_cited_is_here() -> None:
    assert {str(path.relative_to(ROOT)): gone for path in texts() if (gone := missing(path))} == {}


def test_nothing_cites_what_was_never_brought_in() -> None:
    found = {str(path.relative_to(ROOT)): ELSEWHERE.findall(said(path)) for path in texts()}
    assert {path: words for path, words in found.items() if words} == {}


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("see docs/keys.md", ["docs/keys.md#"]),
        ("(docs/design.md#keys), strawboss/recovery/look.py", []),
        ("docs/design.md#no-such-heading.", ["docs/design.md#no-such-heading"]),
    ],
)
def test_what_is_not_here_is_found(text: str, gone: list[str], tmp_path: Path) -> None:
    page = tmp_path / "page.py"
    page.write_text(f'"""{text}"""\nmade_up = "docs/made-up.md"\n')
    assert missing(page) == gone
