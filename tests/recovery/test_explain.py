from __future__ import annotations

from typing import Any

import pytest
from recovery.desk import ANSWERS, Desk, restored, stranded
from recovery.given import LAUNCHER, RUN, SETTINGS, UNKNOWN

from strawboss.recovery import commands as c
from strawboss.recovery.evidence import RunFiles, Transcript
from strawboss.recovery.explain import Explanation, explain
from strawboss.recovery.nudge import NUDGE
from strawboss.recovery.restored import RESTORED
from strawboss.recovery.verdict import Answer


def explained(desk: Desk, run: str = RUN) -> Explanation:
    steps = explain(LAUNCHER, SETTINGS, run)
    answer: Any = None
    while True:
        try:
            command = steps.send(answer)
        except StopIteration as end:
            explanation: Explanation = end.value
            return explanation
        assert isinstance(command, c.Read)  # it changes nothing
        answer = ANSWERS[type(command)](desk, command)


def test_every_condition_of_every_machine_and_the_turn_is_answered_in_order() -> None:
    (nudge_name, asked), (restored_name, proofs), (lost_name, _), (turn_name, [turn]) = explained(stranded())
    assert (nudge_name, restored_name, lost_name, turn_name) == ("nudge", "restored", "lost", "turn")
    assert len(asked) == len(NUDGE.conditions)
    assert len(proofs) == len(RESTORED.conditions)
    assert all(verdict.holds for verdict in asked)
    assert turn.answer is Answer.NO


def test_a_restored_run_answers_yes_to_everything_and_its_turn_is_cut() -> None:
    _, (_, proofs), _, (_, [turn]) = explained(restored())
    assert all(verdict.holds for verdict in proofs)
    assert turn.holds


@pytest.mark.parametrize(
    ("changes", "condition"),
    [
        ({"registry": UNKNOWN}, "the registry can be read"),
        ({"transcript": UNKNOWN}, "the transcript can be read"),
        ({"runs": UNKNOWN}, "it has finished"),
        ({"runs": {}}, "it has finished"),
        ({"panes": UNKNOWN}, "herdr lists its panes"),
        ({"roster": UNKNOWN}, "the launcher is on pi-intercom"),
        ({"processes": {}}, "its pane runs its launch script"),
        ({"files": {RUN: RunFiles(UNKNOWN)}}, "its launch script names it"),
    ],
)
def test_what_cannot_be_known_is_unknown_with_its_reason(changes: dict[str, Any], condition: str) -> None:
    (_, asked), *_ = explained(stranded(**changes))
    [verdict] = [one for one in asked if one.condition == condition]
    assert verdict.answer is Answer.UNKNOWN
    assert verdict.why


def test_without_a_script_nothing_more_is_read() -> None:
    explanation = explained(stranded(files={RUN: RunFiles(None)}, transcript=Transcript()))
    assert explanation[-1][1][0].answer is Answer.UNKNOWN
