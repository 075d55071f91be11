"""All tapes together take no more room and no more days than they may; the oldest looks go first."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from strawboss.tape.shelf import (
    BLOCK,
    DAY_SECONDS,
    LAST,
    Limits,
    Segment,
    newest_segment,
    prune,
    segments_of,
)

NOW = 1_800_000_000.0


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    return tmp_path


def make_segment(session: Path) -> Path:
    with closing(Segment(session)) as segment:
        return segment.file


def put(shelf: Path, name: str, *, size: int = 10_000, age: float = 0) -> Path:
    file = shelf / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"x" * size)
    os.utime(file, (NOW - age, NOW - age))
    return file


def left(shelf: Path) -> list[str]:
    return sorted(str(file.relative_to(shelf)) for file in shelf.glob("*/*.jsonl"))


def test_segments_are_numbered_one_after_the_other(shelf: Path) -> None:
    session = shelf / "s"
    made = [make_segment(session) for _ in range(3)]
    assert [file.name for file in made] == ["000001.jsonl", "000002.jsonl", "000003.jsonl"]
    assert segments_of(session) == made
    assert newest_segment(session) == made[-1]
    made[0].unlink()
    assert make_segment(session).name == "000004.jsonl"


def test_what_is_too_old_goes_and_its_session_with_it(shelf: Path) -> None:
    put(shelf, "a/000001.jsonl", age=31 * DAY_SECONDS)
    put(shelf, f"a/{LAST}")
    put(shelf, "b/000001.jsonl", age=29 * DAY_SECONDS)
    prune(shelf, shelf / "c", Limits(), Limits().segment, NOW)
    assert left(shelf) == ["b/000001.jsonl"]
    assert not (shelf / "a").exists()


def test_a_session_loses_its_oldest_segments_before_it_takes_too_much(shelf: Path) -> None:
    for number in range(1, 7):
        put(shelf, f"a/00000{number}.jsonl", age=7 - number)
    put(shelf, "b/000001.jsonl", age=100)
    prune(shelf, shelf / "a", Limits(session=40_000), Limits(session=40_000).segment, NOW)
    assert left(shelf) == ["a/000004.jsonl", "a/000005.jsonl", "a/000006.jsonl", "b/000001.jsonl"]


def test_all_sessions_lose_their_oldest_segments_before_they_take_too_much(shelf: Path) -> None:
    for number in range(1, 7):
        put(shelf, f"s{number}/000001.jsonl", age=7 - number)
    prune(
        shelf,
        shelf / "new",
        Limits(session=40_000, total=50_000),
        Limits(session=40_000, total=50_000).segment,
        NOW,
    )
    assert left(shelf) == ["s3/000001.jsonl", "s4/000001.jsonl", "s5/000001.jsonl", "s6/000001.jsonl"]


def test_many_small_segments_count_as_the_blocks_they_take(shelf: Path) -> None:
    for number in range(1, 10):
        put(shelf, f"a/00000{number}.jsonl", size=1, age=10 - number)
    prune(shelf, shelf / "a", Limits(session=4 * BLOCK), Limits(session=4 * BLOCK).segment, NOW)
    assert left(shelf) == ["a/000007.jsonl", "a/000008.jsonl", "a/000009.jsonl"]


def test_what_is_no_tape_is_left_alone(shelf: Path) -> None:
    put(shelf, "a/notes.txt", age=99 * DAY_SECONDS)
    put(shelf, "loose.jsonl", age=99 * DAY_SECONDS)
    prune(shelf, shelf / "b", Limits(), Limits().segment, NOW)
    assert (shelf / "a" / "notes.txt").exists()
    assert (shelf / "loose.jsonl").exists()
