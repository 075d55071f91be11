"""The launcher's message: accepted, dropped, refused, held back by a compaction; `resumed` once it is taken."""

from __future__ import annotations

from typing import Any

import pytest
from recovery.desk import restored
from recovery.given import BOSS_PANE, FILE, RUN, UNKNOWN, assistant, tail, user

from strawboss.recovery.commands import Outcome, ReadTranscript, Result, SessionState, TellLauncher
from strawboss.recovery.restored.numbers import PUTS

BUSY, COMPACTING = SessionState(idle=False), SessionState(idle=False, compacting=True)


def test_the_message_names_its_runs_in_its_details_and_its_id_is_its_own() -> None:
    desk = restored(takes_messages=False)
    desk.look_times(3)
    first, second = desk.did(TellLauncher)
    assert first.runs == second.runs == (RUN,)
    assert first.id != second.id


@pytest.mark.parametrize("state", [SessionState(idle=True), BUSY])
def test_an_idle_launcher_and_a_busy_one_are_told_alike(state: SessionState) -> None:
    desk = restored(session=state)
    desk.look_times(2)
    assert desk.keys() == ["closing", "resumed"]


@pytest.mark.parametrize("state", [COMPACTING, UNKNOWN])
def test_during_a_compaction_or_without_an_answer_it_waits(state: object) -> None:
    desk = restored(session=state)
    desk.look_times(6)
    assert desk.did(TellLauncher) == []
    desk.session = SessionState(idle=True)
    desk.look()
    assert desk.keys() == ["closing", "resumed"]


@pytest.mark.parametrize(
    "moved",
    [{"forks": {FILE: ("/s/newer.jsonl",)}}, {"tails": {FILE: tail(user(), assistant("stop"), user())}}],
    ids=["forked", "a new step"],
)
def test_of_a_closed_run_that_somebody_went_on_with_a_person_is_told_and_not_the_launcher(moved: Any) -> None:
    desk = restored(session=COMPACTING)
    desk.look_times(2)
    vars(desk).update(moved, session=SessionState(idle=True))
    desk.look_times(3)
    assert desk.effects() == ["closing", "ClosePane", "gaveUp", "Notify"]
    assert "somebody went on with it" in desk.warnings()[0]


@pytest.mark.parametrize("unseen", [{"forks": {FILE: UNKNOWN}}, {"tails": {FILE: UNKNOWN}}])
def test_of_a_closed_run_of_which_nobody_can_tell_that_it_waits(unseen: Any) -> None:
    desk = restored(session=COMPACTING)
    desk.look_times(2)
    usual = {name: getattr(desk, name) for name in unseen}
    vars(desk).update(unseen, session=SessionState(idle=True))
    desk.look_times(2)
    assert desk.effects() == ["closing", "ClosePane"]
    assert "it cannot be read" in str(desk.look().runs[0].obstacle)
    vars(desk).update(usual)
    desk.look()
    assert desk.keys() == ["closing", "resumed"]


def test_a_queued_message_is_waited_for_while_the_launcher_is_busy() -> None:
    desk = restored(takes_messages=False, session=BUSY)
    desk.look_times(10)
    assert len(desk.did(TellLauncher)) == 1
    assert desk.keys() == ["closing"]
    desk.happen(desk.did(TellLauncher)[0])
    desk.takes_messages = True
    desk.happen(desk.did(TellLauncher)[0])
    desk.look()
    assert desk.keys() == ["closing", "resumed"]
    assert len(desk.did(TellLauncher)) == 1


def test_a_dropped_message_is_put_so_many_times_and_then_given_up_with_the_path() -> None:
    desk = restored(takes_messages=False)
    desk.look_times(4 * PUTS)
    assert len(desk.did(TellLauncher)) == PUTS
    assert desk.keys() == ["closing", "gaveUp"]
    [warning] = desk.warnings()
    assert FILE in warning


def test_a_refused_message_is_given_up_at_once_with_the_path() -> None:
    desk = restored(refuses={TellLauncher: Result(Outcome.FAILED, "stale")})
    desk.look_times(4)
    assert desk.effects() == ["closing", "ClosePane", "TellLauncher", "gaveUp", "Notify"]
    assert FILE in desk.warnings()[0]


def test_a_message_with_an_unknown_outcome_is_waited_for_like_an_accepted_one() -> None:
    desk = restored(refuses={TellLauncher: Result(Outcome.UNKNOWN, "timeout")}, session=BUSY)
    desk.look_times(4)
    assert len(desk.did(TellLauncher)) == 1
    assert desk.warnings() == []


def test_resumed_is_not_written_before_the_session_has_taken_the_message() -> None:
    desk = restored(takes_messages=False, session=BUSY)
    desk.look_times(2)
    place = [type(command) for command in desk.said].index(TellLauncher)
    assert [type(command) for command in desk.said[place:]] == [TellLauncher, ReadTranscript]
    assert desk.memory.runs[RUN].proof("restored").state == "message put"


def test_a_resumed_key_that_cannot_be_written_is_tried_again_and_nothing_is_told_twice() -> None:
    desk = restored(broken_keys=frozenset({"resumed"}))
    desk.look_times(5)
    assert len(desk.did(TellLauncher)) == 1
    desk.broken_keys = frozenset()
    desk.look_times(2)
    assert desk.keys().count("resumed") == 5
    assert len(desk.did(TellLauncher)) == 1


def test_a_run_that_was_told_without_any_key_is_resumed_at_the_next_start() -> None:
    desk = restored(panes=(BOSS_PANE,))
    desk.happen(TellLauncher("m", (RUN,), ""))
    desk.look_times(3)
    assert desk.effects() == ["resumed"]
