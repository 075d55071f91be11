"""A tape holds every look as it was taken, says nothing twice, and never stands in a look's way."""

from __future__ import annotations

import os
import stat
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from recovery.desk import Desk, KilledError, kill_at, restored, stranded
from recovery.given import RUN, WAITING, now
from tape.taping import SESSION, Taped, names

from strawboss.recovery.commands import ClosePane, SendIntercom, TellLauncher
from strawboss.recovery.evidence import Activity
from strawboss.recovery.verdict import Unknown
from strawboss.tape.shelf import Limits, Segment


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    return tmp_path / "tapes"


def lines(taped: Taped) -> list[bytes]:
    return taped.segments()[-1].read_bytes().splitlines()


def many(count: int) -> Desk:
    runs = {f"{number:08x}": WAITING for number in range(count)}
    return Desk(registry=frozenset(runs), runs=runs, files=dict.fromkeys(runs, Desk().files[RUN]))


@pytest.mark.parametrize("make", [stranded, restored])
def test_each_look_is_on_it_with_its_commands_answers_clock_and_reports(shelf: Path, make: Any) -> None:
    taped = Taped(shelf, make())
    for number in range(1, 8):
        taped.desk.forget()
        look = taped.look()
        written = taped.read()[-1]
        assert (len(taped.read()), written.clock, written.ended) == (number, now(number), True)
        assert names(written) == [type(command).__name__ for command in taped.desk.said]
        assert written.reported == look.runs
    assert taped.complaints == []


def test_the_look_itself_is_the_same_with_a_tape_and_without(shelf: Path) -> None:
    taped, plain = Taped(shelf, restored()), restored()
    for _ in range(5):
        assert taped.look() == plain.look()
    assert taped.desk.said == plain.said


def test_a_quiet_look_is_a_few_bytes_and_an_hour_of_twenty_runs_less_than_2_kb(shelf: Path) -> None:
    taped = Taped(shelf, many(20))
    taped.looks(12)
    before = taped.size()
    with taped.on_tape():
        for number in range(13, 13 + 240):
            at = now(number)
            taped.desk.look(
                replace(at, wall=at.wall + number % 7 / 1000, monotonic=at.monotonic + number % 5 / 1000)
            )
    assert taped.size() - before < 2_000
    assert len(taped.read()) == 252
    assert taped.read()[-1].clock == replace(
        now(252), wall=now(252).wall, monotonic=now(252).monotonic + 0.002
    )


def test_an_answer_that_did_not_change_is_not_written_again(shelf: Path) -> None:
    taped = Taped(shelf, stranded())
    taped.look()
    taped.desk.runs = {RUN: Activity("waiting", "agent_end", WAITING.updated_at + 1)}
    taped.look()
    news = b"".join(lines(taped)[2:])
    assert b"updated_at" in news
    assert b"subagent-scripts" not in news
    assert taped.read()[-1].known("ReadRun", run=RUN) == taped.desk.files[RUN]


def test_clocks_that_are_no_whole_milliseconds_are_kept_as_they_are(shelf: Path) -> None:
    taped = Taped(shelf, stranded())
    with taped.on_tape():
        for number in range(1, 5):
            taped.desk.look(replace(now(number), monotonic=number * 15 + 0.0001234))
    assert [look.clock.monotonic for look in taped.read()] == [
        number * 15 + 0.0001234 for number in range(1, 5)
    ]


# -- an end in the middle --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ClosePane, TellLauncher])
def test_before_an_effect_leaves_it_is_written_that_it_was_about_to(shelf: Path, kind: type) -> None:
    taped = Taped(shelf, restored())
    taped.look()
    taped.desk.before = kill_at(kind)
    with pytest.raises(KilledError):
        taped.look()
    last = taped.read()[-1]
    assert (names(last)[-1], last.ended, len(last.answers)) == (kind.__name__, False, len(last.asked) - 1)


def test_a_look_that_was_given_up_is_on_the_tape_as_one_that_did_not_end(shelf: Path) -> None:
    taped = Taped(shelf, stranded())
    taped.look()
    taped.desk.before = kill_at(SendIntercom)
    with pytest.raises(KilledError):
        taped.look()
    taped.desk.before = lambda _: None
    taped.looks(3)
    assert [look.ended for look in taped.read()] == [True, False, True, True, True]
    assert [look.clock for look in taped.read()] == [now(number) for number in range(1, 6)]


def test_a_look_that_broke_before_it_did_anything_left_nothing(shelf: Path) -> None:
    taped = Taped(shelf, stranded())
    taped.look()
    taped.desk.before = kill_at(object)
    with pytest.raises(KilledError):
        taped.look()
    taped.desk.before = lambda _: None
    taped.look()
    assert [look.clock for look in taped.read()] == [now(1), now(3)]


def test_another_process_begins_another_segment(shelf: Path) -> None:
    taped = Taped(shelf, stranded())
    taped.looks(2)
    taped.restart()
    taped.look()
    assert [look.is_first for look in taped.read()] == [True, False, True]
    assert len(taped.segments()) == 2


# -- privacy and bounds ----------------------------------------------------------------------------------------


def test_nobody_else_may_read_it(shelf: Path) -> None:
    taped = Taped(shelf, stranded())
    before = os.umask(0)
    try:
        taped.looks(3)
    finally:
        os.umask(before)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in [shelf, *shelf.rglob("*")]}
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}


def test_it_holds_no_text_that_was_sent(shelf: Path) -> None:
    taped = Taped(shelf, stranded())
    taped.looks(3)
    [sent] = taped.desk.did(SendIntercom)
    assert sent.text[:40].encode() not in b"".join(file.read_bytes() for file in taped.segments())


def test_a_full_segment_is_followed_by_another_that_needs_no_other(shelf: Path) -> None:
    taped = Taped(shelf, stranded(), Limits(session=40_000))
    for number in range(200):
        taped.desk.runs = {RUN: Activity("waiting", "agent_end", float(number))}
        taped.look()
    assert len(taped.segments()) > 1
    for file in taped.segments()[:-1]:
        file.unlink()
    last = taped.read()[-1]
    assert last.known("ReadRun", run=RUN) == taped.desk.files[RUN]
    assert taped.complaints == []


def test_a_session_takes_no_more_than_it_may_and_loses_its_oldest_looks(shelf: Path) -> None:
    taped = Taped(shelf, stranded(), Limits(session=40_000))
    for number in range(600):
        taped.desk.runs = {RUN: Activity("waiting", "agent_end", float(number))}
        taped.look()
        assert taped.size() <= 40_000 + 2_000  # the last line of a segment may be longer than what was left
    assert taped.read()[0].clock.monotonic > now(100).monotonic
    assert taped.read()[-1].clock == now(600)


def test_a_memory_as_large_as_a_segment_leaves_its_looks_the_same_room(shelf: Path) -> None:
    """Ten thousand old runs: a new segment at every look would be megabytes each time."""
    desk = many(60)
    taped = Taped(shelf, desk, Limits(session=80_000))
    for number in range(300):
        desk.runs = {**desk.runs, "00000000": Activity("waiting", "agent_end", float(number))}
        taped.look()
        assert taped.size() <= 80_000 + 2_000
    begins = [look.is_first for look in taped.read()]
    assert taped.segments()[-1].read_bytes().index(b"\n") > Limits(session=80_000).segment
    assert sum(begins) < len(begins) / 20
    assert taped.complaints == []


def test_a_memory_as_large_as_a_whole_tape_ends_it(shelf: Path) -> None:
    taped = Taped(shelf, many(60), Limits(session=8_000))
    taped.look()
    before = taped.size()
    taped.looks(3)
    assert taped.complaints == ["ValueError: what a segment begins with takes the room of a whole tape"]
    assert taped.size() == before


# -- a disk that will not take it ------------------------------------------------------------------------------


@pytest.mark.parametrize("look", [1, 2, 3])
@pytest.mark.parametrize(
    "fault", [OSError(28, "No space left on device"), ValueError("a bug"), KeyError("a bug")]
)
def test_what_cannot_be_written_ends_the_tape_with_one_complaint_and_never_the_look(
    shelf: Path, look: int, fault: Exception
) -> None:
    taped, plain = Taped(shelf, stranded()), stranded()
    for number in range(1, 6):
        with mock.patch.object(Segment, "append", side_effect=fault) if number >= look else nullcontext():
            assert taped.look() == plain.look()
    assert taped.desk.said == plain.said
    assert len(taped.complaints) == 1
    assert len(taped.read()) == look - 1


def test_a_short_write_is_a_full_disk(shelf: Path) -> None:
    taped = Taped(shelf, stranded())
    taped.look()
    with mock.patch(
        "os.write", lambda descriptor, content: os.writev(descriptor, [content[: len(content) // 2]])
    ):
        taped.look()
    taped.look()
    assert taped.complaints == ["No space left on device"]
    assert len(taped.read()) == 1


def test_a_directory_that_cannot_be_made_ends_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    taped = Taped(tmp_path / "file" / "tapes", stranded())
    taped.looks(2)
    assert taped.complaints == ["Not a directory"]


def test_a_tape_that_somebody_deleted_begins_again(shelf: Path) -> None:
    taped = Taped(shelf, stranded())
    taped.looks(2)
    for file in taped.segments():
        file.unlink()
    taped.looks(2)
    assert [look.is_first for look in taped.read()] == [True, False]
    assert taped.complaints == []


def test_with_no_bytes_to_take_there_is_none(shelf: Path) -> None:
    taped = Taped(shelf, stranded(), Limits(session=0))
    taped.looks(2)
    assert not shelf.exists()


def test_a_registry_that_cannot_be_read_is_on_the_tape_with_its_reason(shelf: Path) -> None:
    taped = Taped(shelf, stranded(registry=Unknown("gone")))
    taped.look()
    assert taped.read()[0].known("ReadRegistry") == Unknown("gone")
    assert (shelf / SESSION).is_dir()
