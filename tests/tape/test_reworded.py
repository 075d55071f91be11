"""A condition is known by itself: with other words in every sentence and every reason, the same is decided everywhere."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
from tape.scenes import RECORDED, STORIES, directory

from strawboss.recovery import verdict
from strawboss.recovery.commands import Command
from strawboss.recovery.settings import Settings
from strawboss.recovery.verdict import Answer, Named, Verdict
from strawboss.tape.door import open_looks
from strawboss.tape.exact import decision_of
from strawboss.tape.lines import spoken
from strawboss.tape.play import play

REPORTS = RECORDED.parent / "reports"


def scenes() -> Iterator[tuple[str, list[Path]]]:
    """Every story, every scene as it was recorded, every reported case."""
    for name, moments in STORIES.items():
        yield name, [directory(moment) for moment in moments]
    for scene in sorted(
        {path.parents[1] for under in (RECORDED, REPORTS) for path in under.rglob("sessions")}
    ):
        moments_of = sorted(scene.iterdir())
        yield str(scene.relative_to(RECORDED.parent)), [*moments_of, moments_of[-1], moments_of[-1]]
    for case in sorted(REPORTS.glob("*.json*")):
        yield case.stem, [case]


SCENES = dict(scenes())


def decided(name: str) -> list[Any]:
    """Of each look of the scene: state, machine and condition of every run, and every effect without its words."""
    looks = [look for path in SCENES[name] for look in open_looks(path)]
    return [
        (
            {report.run: decision_of(report) for report in told.runs},
            [done(command) for command, _ in told.done],
        )
        for told in play(looks, Settings())[0]
    ]


def done(command: Command) -> Any:
    name, *members = spoken(command)
    for one in members:
        one.get("data", {}).pop("why", None)
    return name, members


def in_other_words(of: str, _: str, answer: Answer, why: str = "") -> Verdict:
    """Nothing is left by which one condition could be told from another but its name."""
    return Verdict(of, "in other words", answer, "another reason" if why else "")


@pytest.fixture
def reword(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    return lambda: monkeypatch.setattr(verdict, "Verdict", in_other_words)


@pytest.mark.parametrize("name", SCENES)
def test_the_same_is_decided_in_other_words(name: str, reword: Callable[[], None]) -> None:
    before = decided(name)
    assert before
    reword()
    assert decided(name) == before


def by_its_sentence(verdict: Verdict, conditions: Collection[Named]) -> bool:
    return any(verdict.condition == condition.sentence for condition in conditions)


def test_a_decision_that_hung_on_a_sentence_would_be_seen(
    reword: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Verdict, "is_of", by_its_sentence)
    before = {name: decided(name) for name in SCENES}
    reword()
    assert any(decided(name) != before[name] for name in SCENES)
