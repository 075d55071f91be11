"""A taped look taken again is given its answers in order, and what it decides otherwise is named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from recovery.desk import KilledError, kill_at, restored, stranded
from recovery.given import RUN
from tape.taping import Taped

from strawboss.recovery.commands import ClosePane, ListPanes, ReadRegistry, ReadTail, SendIntercom, WriteKey
from strawboss.recovery.verdict import Unknown
from strawboss.tape.exact import Difference, EndedError, Exact
from strawboss.tape.play import play
from strawboss.tape.taped_look import NOT_ASKED


@pytest.fixture
def taped(tmp_path: Path) -> Taped:
    made = Taped(tmp_path / "tapes", restored())
    made.looks(2)
    return made


def test_every_look_of_a_story_is_decided_again_as_it_was(taped: Taped) -> None:
    taped.looks(4)
    taped.restart()
    taped.looks(2)
    said = list(taped.desk.said)
    story, _ = play(taped.read())
    assert all(not told.differs and told.ended for told in story)
    done = [command for told in story for command, _ in told.done]
    assert done == [
        one for one in said if type(one).__name__ in {"WriteKey", "ClosePane", "TellLauncher", "Notify"}
    ]


def test_a_look_in_which_the_process_ended_ends_there_again(tmp_path: Path) -> None:
    made = Taped(tmp_path / "tapes", stranded())
    made.look()
    made.desk.before = kill_at(SendIntercom)
    with pytest.raises(KilledError):
        made.look()
    story, _ = play(made.read())
    assert [told.ended for told in story] == [True, False]
    assert [type(command) for command, _ in story[-1].done] == [WriteKey]
    assert story[-1].differs == ()


def test_a_question_that_is_not_on_the_tape_is_answered_from_what_was_known(taped: Taped) -> None:
    exact = Exact(taped.read()[0])
    assert exact.answer(ReadRegistry()) == frozenset()
    assert exact.answer(ReadTail("/no")) == NOT_ASKED
    assert exact.differs == Difference("", "ReadRuns", "ReadTail /no")
    assert len(exact.answer(ListPanes())) == 2


def test_an_act_that_is_not_on_the_tape_does_not_happen(taped: Taped) -> None:
    exact = Exact(taped.read()[0])
    assert isinstance(exact.answer(WriteKey("closing", RUN)), Unknown)
    assert exact.answer(ClosePane("w9:p9")).outcome.value == "failed"
    assert exact.differs == Difference(RUN, "ReadRegistry", f"WriteKey {RUN} closing")


def test_a_look_that_asks_less_than_its_tape_decides_otherwise(taped: Taped) -> None:
    exact = Exact(taped.read()[0])
    exact.answer(ReadRegistry())
    exact.end()
    assert exact.differs == Difference("", "ReadRuns", "nothing more")


def test_where_the_process_ended_nothing_is_answered(taped: Taped) -> None:
    look = taped.read()[0]
    exact = Exact(replace(look, asked=look.asked[:1], answers=(), ended=False))
    with pytest.raises(EndedError):
        exact.answer(ReadRegistry())


def test_another_state_of_a_run_is_named_with_its_condition(taped: Taped) -> None:
    first, second = taped.read()
    reports = {RUN: {**first.reports[RUN], "state": "watching"}}
    story, _ = play([replace(first, reports=reports), second])
    assert story[0].differs == (
        Difference(RUN, "restored watching (nothing in its way)", "restored found once (nothing in its way)"),
    )
