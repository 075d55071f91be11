"""Three-valued answers that carry their reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

T = TypeVar("T")


class Answer(Enum):
    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Unknown:
    """Evidence that is missing or cannot be understood, and why. It stands wherever the evidence would."""

    why: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """One condition, its answer and why; `str()` is what a person reads."""

    condition: str
    answer: Answer
    why: str = ""

    @property
    def holds(self) -> bool:
        return self.answer is Answer.YES

    def __str__(self) -> str:
        return f"{self.condition}: {self.answer.value}" + (f" ({self.why})" if self.why else "")


def yes(condition: str, why: str = "") -> Verdict:
    return Verdict(condition, Answer.YES, why)


def no(condition: str, why: str) -> Verdict:
    return Verdict(condition, Answer.NO, why)


def unknown(condition: str, why: str | Unknown) -> Verdict:
    return Verdict(condition, Answer.UNKNOWN, why.why if isinstance(why, Unknown) else why)


def first_obstacle(facts: T, conditions: Iterable[Callable[[T], Verdict]]) -> Verdict | None:
    """The first condition that does not hold, or None when all do. Cheap conditions go first."""
    for condition in conditions:
        verdict = condition(facts)
        if not verdict.holds:
            return verdict
    return None
