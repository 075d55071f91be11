"""Three-valued answers that carry their reason, and the conditions that give them.

A condition is known by its name, which is that of its function; the sentence is only what a person reads, so that
rewording one changes no decision.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

T = TypeVar("T")


class Answer(Enum):
    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Unknown:
    """Evidence that is missing or cannot be understood, and why. It stands wherever the evidence would.

    `absent`: nobody runs there who could be asked, so nobody could have known anything.
    """

    why: str
    absent: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """One condition's answer and why. `of`: the condition's name; `condition`: its sentence; `str()`: for a person."""

    of: str
    condition: str
    answer: Answer
    why: str = ""

    @property
    def holds(self) -> bool:
        return self.answer is Answer.YES

    def is_of(self, conditions: Collection[Named]) -> bool:
        return any(self.of == condition.name for condition in conditions)

    def __str__(self) -> str:
        return f"{self.condition}: {self.answer.value}" + (f" ({self.why})" if self.why else "")


@dataclass(frozen=True, slots=True)
class Named:
    """A condition that is answered where it is asked."""

    name: str
    sentence: str

    def yes(self, why: str = "") -> Verdict:
        return Verdict(self.name, self.sentence, Answer.YES, why)

    def no(self, why: str) -> Verdict:
        return Verdict(self.name, self.sentence, Answer.NO, why)

    def unknown(self, why: str | Unknown) -> Verdict:
        return Verdict(self.name, self.sentence, *unknown(why))


Said = tuple[Answer, str]
YES: Said = (Answer.YES, "")


def no(why: str) -> Said:
    return Answer.NO, why


def unknown(why: str | Unknown) -> Said:
    return Answer.UNKNOWN, why.why if isinstance(why, Unknown) else why


@dataclass(frozen=True, slots=True)
class Condition(Named, Generic[T]):
    """A condition that the facts answer."""

    judge: Callable[[T], Said]

    def __call__(self, facts: T) -> Verdict:
        return Verdict(self.name, self.sentence, *self.judge(facts))


def condition(sentence: str) -> Callable[[Callable[[T], Said]], Condition[T]]:
    """Make a function of the facts a condition; `sentence` says it for a person."""

    def made(judge: Callable[[T], Said]) -> Condition[T]:
        folder = judge.__module__.split(".")[-2]  # that of its machine, or of what all machines share
        return Condition(f"{folder}.{judge.__name__}", sentence, judge)

    return made


def first_obstacle(facts: T, conditions: Iterable[Condition[T]]) -> Verdict | None:
    """The first condition that does not hold, or None when all do. Cheap conditions go first."""
    for one in conditions:
        answer, why = one.judge(facts)
        if answer is not Answer.YES:
            return Verdict(one.name, one.sentence, answer, why)
    return None
