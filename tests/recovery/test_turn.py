"""Whether a restart cut a child's turn in the middle, for every way a session file can end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recovery.given import (
    AT,
    BASH_CALL,
    SECONDS,
    SETTINGS,
    UNKNOWN,
    WAITING,
    assistant,
    chain,
    custom_message,
    other,
    result,
    tail,
    user,
)

from strawboss.recovery.evidence import Activity, Entry, Tail
from strawboss.recovery.settings import TURN_STARTING_TYPES
from strawboss.recovery.turn import ABORT_SECONDS, Turn, steps_of, turn_of
from strawboss.recovery.verdict import Answer, Unknown

YES, NO, MAYBE = Answer.YES, Answer.NO, Answer.UNKNOWN
SECOND_CALL = ("c2", "read", "")


def judged(end: Tail | Unknown, activity: Activity | Unknown = WAITING, *, restored: bool = True) -> Turn:
    return turn_of(end, (), SETTINGS, activity, restored=restored)


CUT = {
    "calls without a result": (tail(user(), assistant("toolUse", BASH_CALL)), ("bash",)),
    "one of two calls without a result": (
        tail(user(), assistant("toolUse", BASH_CALL, SECOND_CALL), result("c1")),
        ("read",),
    ),
    "a result nobody read": (tail(user(), assistant("toolUse", BASH_CALL), result("c1")), ()),
    "two results nobody read": (
        tail(assistant("toolUse", BASH_CALL, SECOND_CALL), result("c2"), result("c1")),
        (),
    ),
    "a result whose call is not in the tail": (tail(result("c9")), ()),
    "an answered question": (
        tail(assistant("toolUse", ("q", "ask_user_question", "")), result("q")),
        (),
    ),
    "a user message nobody answered": (tail(assistant(), user()), ()),
    "a first message nobody answered": (tail(user()), ()),
    **{
        f"a {kind} nobody answered": (tail(assistant(), custom_message(kind)), ())
        for kind in sorted(TURN_STARTING_TYPES)
    },
    "a bridge that got SIGHUP": (
        tail(assistant("error", error="Claude Code process terminated by signal SIGHUP")),
        (),
    ),
    "a bridge that exited with 129": (
        tail(assistant("error", error="x: Claude Code process exited with code 129.")),
        (),
    ),
    "a call that had begun to stream": (
        tail(assistant("error", BASH_CALL, error="Claude Code process exited with code 129")),
        ("bash",),
    ),
}

NOT_CUT = {
    "an ended turn": tail(user(), assistant("stop")),
    "a turn that hit the length": tail(user(), assistant("length")),
    "the boss's Esc": tail(user(), assistant("aborted")),
    "an aborted call": tail(assistant("toolUse", BASH_CALL), result("c1"), assistant("aborted")),
    "a quota": tail(assistant("error", error="429 rate limit")),
    "a replaced conversation": tail(assistant("error", error="conversation was replaced")),
    "a bridge that got SIGTERM": tail(
        assistant("error", error="Claude Code process terminated by signal SIGTERM")
    ),
    "a bridge that exited with 143": tail(
        assistant("error", error="Claude Code process exited with code 143")
    ),
    "a bridge that exited with 1290": tail(
        assistant("error", error="Claude Code process exited with code 1290")
    ),
    "an error without words": tail(assistant("error", BASH_CALL)),
    "a question to the user": tail(assistant("toolUse", ("q", "ask_user_question", ""))),
    "a question beside a call": tail(assistant("toolUse", BASH_CALL, ("q", "ask_user_question", ""))),
    "a question beside an answered call": tail(
        assistant("toolUse", BASH_CALL, ("q", "ask_user_question", "")), result("c1")
    ),
    "a ping to the launcher": tail(assistant("toolUse", ("p", "caller_ping", ""))),
    "a ping that was delivered": tail(assistant("toolUse", ("p", "caller_ping", "")), result("p")),
    "an intercom ask": tail(assistant("toolUse", ("i", "intercom", "ask"))),
    "a decision asked of a supervisor": tail(
        assistant("toolUse", ("s", "contact_supervisor", "need_decision"))
    ),
    "an interview asked of a supervisor": tail(
        assistant("toolUse", ("s", "contact_supervisor", "interview_request"))
    ),
    "an ended turn and notices": tail(assistant(), *(other("custom") for _ in range(5))),
    "an ended turn and a model change": tail(assistant(), other("model_change")),
    "an ended turn and another notice": tail(assistant(), custom_message("todo-reminder")),
    "no step": tail(other("model_change"), other("custom")),
    "an empty file": tail(),
}

UNKNOWN_TURNS = {
    "an unreadable file": UNKNOWN,
    "a torn last line": tail(user(), assistant("stop"), torn=True),
    "an end nobody knows": tail(assistant("paused")),
    "an end that is not told": tail(assistant("")),
    "calls that are not there": tail(assistant("toolUse")),
}


@pytest.mark.parametrize(("end", "calls"), CUT.values(), ids=CUT)
def test_a_turn_is_cut_and_names_the_calls_without_a_result(end: Tail, calls: tuple[str, ...]) -> None:
    turn = judged(end)
    assert (turn.verdict.answer, turn.calls, turn.at) == (YES, calls, AT)


@pytest.mark.parametrize("end", NOT_CUT.values(), ids=NOT_CUT)
def test_a_turn_is_not_cut(end: Tail) -> None:
    assert judged(end).verdict.answer is NO


@pytest.mark.parametrize("end", UNKNOWN_TURNS.values(), ids=UNKNOWN_TURNS)
def test_a_turn_nobody_can_tell_of_is_unknown_and_so_not_told(end: Tail | Unknown) -> None:
    turn = judged(end)
    assert (turn.verdict.answer, turn.was_cut) == (MAYBE, False)


@pytest.mark.parametrize("action", ["send", "list", "reply", ""])
def test_an_intercom_call_that_asks_nothing_is_a_call_like_any_other(action: str) -> None:
    assert judged(tail(assistant("toolUse", ("i", "intercom", action)))).was_cut


# -- an abort by the shutdown --------------------------------------------------------------------------------------

ABORTED = tail(user(), assistant("aborted"))
SHUTDOWN = Activity("done", "session_shutdown", SECONDS + 1)


@pytest.mark.parametrize(
    ("activity", "restored", "answer"),
    [
        (SHUTDOWN, True, YES),
        (replace(SHUTDOWN, updated_at=SECONDS - ABORT_SECONDS), True, YES),
        (replace(SHUTDOWN, updated_at=SECONDS + ABORT_SECONDS + 0.1), True, NO),
        (replace(SHUTDOWN, updated_at=SECONDS - ABORT_SECONDS - 0.1), True, NO),
        (replace(SHUTDOWN, latest_event="agent_end"), True, NO),
        (SHUTDOWN, False, NO),
        (UNKNOWN, True, NO),
    ],
)
def test_an_abort_beside_the_shutdown_of_a_proven_restore_is_the_restarts(
    activity: Activity | Unknown, restored: bool, answer: Answer
) -> None:
    assert judged(ABORTED, activity, restored=restored).verdict.answer is answer


@pytest.mark.parametrize("at", ["", "yesterday", "2026-01-01T00:00:00", "9999999999999"])
def test_an_abort_at_no_readable_time_is_the_bosss_esc(at: str) -> None:
    entry = replace(assistant("aborted"), id="e0", at=at)
    assert judged(Tail("s", (entry,)), SHUTDOWN).verdict.answer is NO


# -- which entries are steps ---------------------------------------------------------------------------------------


def test_only_messages_and_custom_messages_that_start_a_turn_are_steps() -> None:
    entries = chain(
        user(),
        replace(user(), role="system"),
        replace(user(), role="custom"),
        other("custom"),
        other("model_change"),
        other("compaction"),
        other("session_info"),
        custom_message("intercom_message"),
        custom_message("todo-reminder"),
        assistant(),
    )
    kinds = [(step.role, step.custom_type) for step in steps_of(entries, TURN_STARTING_TYPES)]
    assert kinds == [("user", ""), ("", "intercom_message"), ("assistant", "")]


def test_a_branch_that_was_left_does_not_count() -> None:
    one, left, back = chain(user(), assistant("toolUse", BASH_CALL), assistant())
    entries = (one, left, replace(back, parent=one.id))
    assert [step.id for step in steps_of(entries, TURN_STARTING_TYPES)] == ["e0", "e2"]
    assert judged(Tail("s", entries)).verdict.answer is NO


def test_an_entry_that_a_context_edit_took_back_does_not_count() -> None:
    steps = chain(user(), assistant(), user(), replace(other("context_edit"), edits="e2"))
    assert judged(Tail("s", steps)).verdict.answer is NO


def test_a_context_edit_on_a_left_branch_takes_nothing_back() -> None:
    first, edit, second = chain(user(), replace(other("context_edit"), edits="e0"), other("custom"))
    entries = (first, edit, replace(second, parent=first.id))
    assert [step.id for step in steps_of(entries, TURN_STARTING_TYPES)] == ["e0"]


def test_parents_that_go_round_in_a_circle_end() -> None:
    loop = (replace(user(), id="a", parent="b"), replace(assistant(), id="b", parent="a"))
    assert [step.id for step in steps_of(loop, TURN_STARTING_TYPES)] == ["a", "b"]


def test_the_types_that_start_a_turn_are_a_setting() -> None:
    settings = replace(SETTINGS, turn_starting_types=frozenset({"todo-reminder"}))
    assert turn_of(tail(custom_message("todo-reminder")), (), settings, WAITING, restored=True).was_cut
    assert not turn_of(tail(custom_message("intercom_message")), (), settings, WAITING, restored=True).was_cut


@pytest.mark.parametrize("forks", [("/s/newer.jsonl",), Unknown("a header there cannot be read")])
def test_where_another_file_may_be_the_session_now_nobody_knows_whether_it_was_cut(forks: Any) -> None:
    for end, _ in CUT.values():
        assert turn_of(end, forks, SETTINGS, WAITING, restored=True).verdict.answer is MAYBE


# -- for every row of steps ----------------------------------------------------------------------------------------

CALLS = st.lists(
    st.sampled_from([BASH_CALL, SECOND_CALL, ("q", "ask_user_question", ""), ("i", "intercom", "ask")]),
    max_size=3,
    unique=True,
)
STOPS = st.sampled_from(["stop", "length", "aborted", "error", "toolUse", "", "new"])
STEPS = st.one_of(
    st.just(user()),
    st.builds(lambda stop, calls: assistant(stop, *calls), STOPS, CALLS),
    st.sampled_from([result("c1"), result("c2"), result("q"), custom_message("intercom_message")]),
)
NOISE = st.sampled_from([other("custom"), other("model_change"), custom_message("todo-reminder")])
ROWS = st.lists(st.one_of(STEPS, NOISE), max_size=8)


@given(ROWS, ROWS)
def test_notices_between_and_behind_the_steps_change_nothing(row: list[Entry], more: list[Entry]) -> None:
    noise = [entry for entry in more if entry.role == "" and entry.custom_type != "intercom_message"]
    plain = [entry for entry in row if entry not in noise]
    assert judged(tail(*plain, *noise)).verdict == judged(tail(*plain)).verdict


@given(ROWS)
def test_a_turn_that_ended_is_never_cut_whatever_came_before(row: list[Entry]) -> None:
    for stop in ("stop", "length", "aborted"):
        assert judged(tail(*row, assistant(stop))).verdict.answer is NO


@given(ROWS)
def test_a_message_nobody_answered_is_always_a_cut(row: list[Entry]) -> None:
    assert judged(tail(*row, user())).was_cut


@given(ROWS)
def test_a_turn_that_stands_at_a_question_is_never_cut(row: list[Entry]) -> None:
    asked = assistant("toolUse", BASH_CALL, ("q", "ask_user_question", ""))
    assert judged(tail(*row, asked)).verdict.answer is NO
    assert judged(tail(*row, asked, result("c1"))).verdict.answer is NO


@given(ROWS)
def test_only_calls_of_the_last_assistant_message_without_a_result_are_named(row: list[Entry]) -> None:
    turn = judged(tail(*row))
    steps = steps_of(tail(*row).entries, TURN_STARTING_TYPES)
    last = max((place for place, step in enumerate(steps) if step.role == "assistant"), default=0)
    answered = {step.answers for step in steps[last:]}
    for name in turn.calls:
        assert name in {call for each, call, _ in steps[last].calls if each not in answered}
