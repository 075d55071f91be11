"""Every state a run can be in has its plain words, and untrusted text in them stays one line."""

from __future__ import annotations

import pytest

from strawboss.recovery.look import MACHINES
from strawboss.recovery.memory import RunReport
from strawboss.recovery.verdict import Answer, Verdict
from strawboss.tape.words import STATES, sentence

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


def test_a_condition_without_a_reason_is_its_own() -> None:
    watching = RunReport(
        "a", "", "nudge", "watching", Verdict("x", "it is so", Answer.UNKNOWN), stranded=False
    )
    assert "it is so: unknown" in sentence(watching)
