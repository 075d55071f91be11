from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strawboss.runs import lines
from strawboss.runs.foreign_files import open_regular
from strawboss.runs.lines import marked, whole_lines

MARKS = (b"<one>", b"<two>")
contents = st.lists(st.sampled_from([b"a", b"bc", b"\n", b"<one>", b"<two>"]), max_size=40).map(b"".join)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lines") / "file"


def blocks(path: Path, content: bytes, start: int = 0) -> list[tuple[int, bytes]]:
    path.write_bytes(content)
    with open_regular(str(path)) as file:
        return list(whole_lines(file, start, len(content), MARKS))


@given(contents, st.integers(1, 8))
def test_blocks_hold_all_bytes_in_order_and_end_with_lines(path: Path, content: bytes, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK", size)
        found = blocks(path, content)
    assert b"".join(block for _, block in found) == content
    assert all(block.endswith(b"\n") for _, block in found[:-1])
    ends = [len(b"".join(block for _, block in found[: n + 1])) for n in range(len(found))]
    assert [end for end, _ in found] == ends


@given(contents)
def test_marked_lines_are_exactly_the_lines_with_a_mark(content: bytes) -> None:
    expected = [line for line in content.splitlines(keepends=True) if any(mark in line for mark in MARKS)]
    assert marked(content, MARKS) == expected


def test_a_line_that_is_too_long_is_not_kept_but_its_beginning_and_its_marks_are(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "BLOCK", 100)
    monkeypatch.setattr(lines, "LONGEST", 400)
    content = b'{"type":' + b"x" * 1000 + b"<two>" + b"y" * 5000 + b"}\nnext\n"
    found = b"".join(block for _, block in blocks(path, content))
    assert len(found) < 1000
    assert found.startswith(b'{"type":')
    assert b"<two>" in found
    assert b"<one>" not in found
    assert found.endswith(b"\nnext\n")
    assert blocks(path, content)[-1][0] == len(content)


@pytest.mark.parametrize("shift", range(0, 110, 7))
def test_a_mark_of_a_long_line_is_found_wherever_the_blocks_meet(
    path: Path, monkeypatch: pytest.MonkeyPatch, shift: int
) -> None:
    monkeypatch.setattr(lines, "BLOCK", 100)
    monkeypatch.setattr(lines, "LONGEST", 400)
    found = b"".join(block for _, block in blocks(path, b"x" * (390 + shift) + b"<one>" + b"y" * 900 + b"\n"))
    assert b"<one>" in found
