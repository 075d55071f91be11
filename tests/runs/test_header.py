from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs.written import SESSION, header, message, text

from strawboss.recovery.verdict import Unknown
from strawboss.runs.foreign_files import open_regular
from strawboss.runs.header import LIMIT, read_session_id


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("header") / "session.jsonl"


def read(path: Path, content: bytes) -> str | Unknown:
    path.write_bytes(content)
    with open_regular(str(path)) as file:
        return read_session_id(file)


def test_the_header_gives_the_session_id(path: Path) -> None:
    assert read(path, text(header(), message("user"))) == SESSION
    assert read(path, text(header() | {"version": 2})) == SESSION


def test_a_header_without_its_newline_counts_when_it_is_whole(path: Path) -> None:
    assert read(path, text(header()).rstrip()) == SESSION


@pytest.mark.parametrize(
    "first",
    [
        message("user"),
        header() | {"version": 1},
        header() | {"version": 4},
        header() | {"version": "3"},
        header() | {"id": ""},
        header() | {"id": 5},
        {"type": "session", "version": 3},
        {},
        [],
    ],
    ids=str,
)
def test_a_file_that_begins_with_anything_else_is_no_session(path: Path, first: object) -> None:
    assert isinstance(read(path, json.dumps(first).encode() + b"\n" + text(header())), Unknown)


def test_a_first_line_without_end_is_no_header(path: Path) -> None:
    assert isinstance(read(path, text(header() | {"cwd": "x" * LIMIT})), Unknown)


@given(
    st.binary(max_size=200) | st.integers(0, len(text(header())) - 2).map(lambda cut: text(header())[:cut])
)
def test_any_other_bytes_are_no_session_and_raise_nothing(path: Path, content: bytes) -> None:
    assert isinstance(read(path, content), Unknown)
