from __future__ import annotations

import pytest

from strawboss.recovery.verdict import (
    YES,
    Answer,
    Named,
    Said,
    Unknown,
    Verdict,
    condition,
    first_obstacle,
    no,
    unknown,
)

IT_HOLDS = Named("test.it_holds", "it holds")


@pytest.mark.parametrize(
    ("verdict", "text", "holds"),
    [
        (IT_HOLDS.yes(), "it holds: yes", True),
        (IT_HOLDS.no("it broke"), "it holds: no (it broke)", False),
        (IT_HOLDS.unknown("nobody says"), "it holds: unknown (nobody says)", False),
        (IT_HOLDS.unknown(Unknown("nobody says")), "it holds: unknown (nobody says)", False),
    ],
)
def test_a_verdict_says_its_condition_its_answer_and_why(verdict: Verdict, text: str, holds: bool) -> None:
    assert (str(verdict), verdict.holds) == (text, holds)


def test_the_first_obstacle_is_the_first_condition_that_is_not_a_yes() -> None:
    asked: list[str] = []

    @condition("a")
    def first(_: None) -> Said:
        asked.append("a")
        return YES

    @condition("b")
    def second(_: None) -> Said:
        asked.append("b")
        return unknown("?")

    @condition("c")
    def third(_: None) -> Said:
        asked.append("c")
        return no("!")

    assert first_obstacle(None, [first, second, third]) == second.unknown("?")
    assert asked == ["a", "b"]
    assert first_obstacle(None, [first]) is None


def test_a_verdict_is_known_by_its_condition_and_not_by_the_sentence() -> None:
    reworded = Named(IT_HOLDS.name, "it still stands")
    another = Named("test.another", IT_HOLDS.sentence)
    verdict = IT_HOLDS.no("it broke")
    assert verdict.is_of((reworded,))
    assert not verdict.is_of((another,))
    assert verdict.answer is Answer.NO
