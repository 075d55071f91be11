from __future__ import annotations

import pytest

from strawboss.recovery.verdict import Answer, Unknown, Verdict, first_obstacle, no, unknown, yes


@pytest.mark.parametrize(
    ("verdict", "text", "holds"),
    [
        (yes("it holds"), "it holds: yes", True),
        (no("it holds", "it broke"), "it holds: no (it broke)", False),
        (unknown("it holds", "nobody says"), "it holds: unknown (nobody says)", False),
        (unknown("it holds", Unknown("nobody says")), "it holds: unknown (nobody says)", False),
    ],
)
def test_a_verdict_says_its_condition_its_answer_and_why(verdict: Verdict, text: str, holds: bool) -> None:
    assert (str(verdict), verdict.holds) == (text, holds)


def test_the_first_obstacle_is_the_first_condition_that_is_not_a_yes() -> None:
    asked: list[str] = []

    def condition(verdict: Verdict) -> Verdict:
        asked.append(verdict.condition)
        return verdict

    conditions = [lambda _, v=v: condition(v) for v in (yes("a"), unknown("b", "?"), no("c", "!"))]
    assert first_obstacle(None, conditions) == unknown("b", "?")
    assert asked == ["a", "b"]  # what comes after it may be dear, and is not asked


def test_without_an_obstacle_there_is_none() -> None:
    assert first_obstacle(None, [lambda _: yes("a"), lambda _: Verdict("b", Answer.YES)]) is None
