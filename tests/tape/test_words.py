"""Every state a run can be in has its plain words, and untrusted text in them stays one line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strawboss.recovery import facts
from strawboss.recovery.again import MAY_BE_RECOVERED
from strawboss.recovery.look import MACHINES
from strawboss.recovery.memory import RunReport
from strawboss.recovery.observing import MAY_ACT
from strawboss.recovery.verdict import Answer, Verdict
from strawboss.tape.taped_look import NOT_ASKED
from strawboss.tape.words import STATES, condition_lines, near, sentence

ALL_STATES = {
    str(state) for machine in MACHINES for pair in machine.table.items() for state in (pair[0][0], pair[1])
}


def report(state: str, name: str = "Zeta", why: str = "", machine: str = "restored") -> RunReport:
    obstacle = Verdict("recovery.x", "it is so", Answer.NO, why) if why else None
    return RunReport("a1b2c3d4", name, machine, state, obstacle, stranded=False)


def test_every_state_of_every_machine_has_its_words() -> None:
    assert set(STATES) >= ALL_STATES | {"tracked", "not looked at", "settled"}


@pytest.mark.parametrize("state", sorted(STATES))
def test_a_sentence_says_who_and_what_in_one_line(state: str) -> None:
    said = sentence(report(state, why="its pane {is} busy."))
    assert said.startswith('a1b2c3d4 "Zeta": ')
    assert said.endswith(".")
    assert not said.endswith("..")
    assert "\n" not in said
    assert "{next}" not in said
    assert "{why}" not in said


def test_a_state_of_another_version_is_said_as_it_is() -> None:
    assert sentence(report("dreaming", machine="resume")) == 'a1b2c3d4 "Zeta": resume: dreaming.'


@pytest.mark.parametrize("name", ["a\nb", "\x1b[2Jx", "x" * 500, "{why}", "{0}"])
def test_a_name_is_data(name: str) -> None:
    said = sentence(report("tracked", name))
    assert said.isprintable()
    assert len(said) < 250


@pytest.mark.parametrize("mistyped", ["a1b", "a1b2c3d", "a1d2c3d4", "a1b2c3d40"])
def test_a_mistyped_run_has_its_neighbours(mistyped: str) -> None:
    assert near(mistyped, ["ffffffff", "a1b2c3d4", "a1b2c3d4"]) == ["a1b2c3d4"]


@pytest.mark.parametrize("unlike", ["", "zzzzzzzz"])
def test_what_is_like_nothing_has_none(unlike: str) -> None:
    assert near(unlike, ["a1b2c3d4"]) == []


def test_no_more_than_five_neighbours_are_named_those_that_begin_like_it_first() -> None:
    known = [f"a1b2c3d{number}" for number in range(9)]
    assert near("a1b2c3d", known) == known[:5]
    assert near("b2c3d", ["a2c3d", "b2c3d9999999"])[0] == "b2c3d9999999"


TRACKED = report("tracked")
OBSERVED = replace(report("found once"), obstacle=MAY_ACT.no("mode: observe; it would be given up"))
HOLDS = Verdict("x.a", "it is a", Answer.YES)
FAILS = Verdict("x.b", "it is b", Answer.NO, "it is c")
NOT_SEEN = Verdict("x.d", "it is d", Answer.UNKNOWN, "herdr cannot be reached")
UNASKED = Verdict("x.e", "it is e", Answer.UNKNOWN, NOT_ASKED.why)
UNREAD = Verdict("x.f", "it is f", Answer.UNKNOWN, facts.NOT_ASKED.why)
CONDITIONS = (("nudge", (HOLDS, UNASKED, FAILS)), ("turn", (NOT_SEEN, UNREAD)))


def test_what_does_not_hold_and_what_could_not_be_seen_is_shown_and_the_rest_counted() -> None:
    assert list(condition_lines(TRACKED, CONDITIONS, whole=False)) == [
        f"nudge: {FAILS}",
        f"turn: {NOT_SEEN}",
        "not shown: 1 that hold, 2 not asked about (`strawboss explain --all`)",
    ]


def test_the_whole_has_the_rest_behind_it() -> None:
    lines = list(condition_lines(TRACKED, CONDITIONS, whole=True))
    assert lines == [
        f"nudge: {FAILS}",
        f"turn: {NOT_SEEN}",
        f"nudge: {HOLDS}",
        f"nudge: {UNASKED}",
        f"turn: {UNREAD}",
    ]


def test_where_nothing_may_be_done_that_is_the_first_that_does_not_hold() -> None:
    first, *rest = condition_lines(OBSERVED, CONDITIONS, whole=False)
    assert first == "strawboss may act: no (mode: observe; it would be given up)"
    assert rest == list(condition_lines(TRACKED, CONDITIONS, whole=False))


@pytest.mark.parametrize("state", sorted(STATES))
def test_what_is_only_observed_is_not_promised(state: str) -> None:
    said = sentence(replace(OBSERVED, state=state))
    assert said == 'a1b2c3d4 "Zeta": nothing is done for it: mode: observe; it would be given up.'


def test_what_is_left_to_a_person_is_not_called_given_up_until_a_reload() -> None:
    left = replace(report("given up"), obstacle=MAY_BE_RECOVERED.no("this task has been resumed three times"))
    assert sentence(left) == (
        'a1b2c3d4 "Zeta": it is stranded again, and a person was told what to do: this task has been resumed three times.'
    )


def test_where_nothing_is_left_out_nothing_is_counted() -> None:
    assert list(condition_lines(TRACKED, (("nudge", (FAILS,)),), whole=False)) == [f"nudge: {FAILS}"]


def test_a_condition_without_a_reason_is_its_own() -> None:
    watching = RunReport(
        "a", "", "nudge", "watching", Verdict("x", "it is so", Answer.UNKNOWN), stranded=False
    )
    assert "it is so: unknown" in sentence(watching)
