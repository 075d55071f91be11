"""A budget, what was measured for it, and what several rounds of that say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import median


class Verdict(Enum):
    MET = "yes"
    NOISE = "within noise"  # over it in most rounds, and not in all
    BROKEN = "NO"


@dataclass(frozen=True, slots=True)
class Budget:
    """`limit`: in `unit`, or, with `times`, how many times what is measured `beside` it in the same round.

    `bound`: what the figure consists of, so that a reader knows what would have to change for another one.
    """

    what: str
    unit: str
    limit: float
    bound: str
    beside: str = ""
    times: bool = False

    def __post_init__(self) -> None:
        assert self.beside or not self.times, f"{self.what}: times what?"

    @property
    def limit_text(self) -> str:
        return f"{shown(self.limit)}×" if self.times else f"{shown(self.limit)} {self.unit}"

    def measured(self, ours: float, beside: float | None = None) -> Measured:
        """One round's figures; `beside` belongs to a budget that has something beside it, and to no other."""
        assert (beside is not None) == bool(self.beside), self.what
        return Measured(self, ours, beside)


@dataclass(frozen=True, slots=True)
class Measured:
    """One round. `share`: the part of the limit that is used; over 1 is too much."""

    budget: Budget
    ours: float
    beside: float | None = None

    @property
    def share(self) -> float:
        used = self.ours / self.beside if self.budget.times and self.beside else self.ours
        if self.budget.limit:
            return used / self.budget.limit
        return math.inf if used else 0.0


@dataclass(frozen=True, slots=True)
class Result:
    """All rounds of one budget; the middle one speaks for them."""

    rounds: tuple[Measured, ...]

    @property
    def budget(self) -> Budget:
        return self.rounds[0].budget

    @property
    def middle(self) -> Measured:
        ordered = sorted(self.rounds, key=lambda one: one.share)
        return ordered[(len(ordered) - 1) // 2]

    @property
    def verdict(self) -> Verdict:
        """Other work on the machine makes a round dearer: what is over in every round is no noise."""
        shares = [one.share for one in self.rounds]
        if median(shares) <= 1:
            return Verdict.MET
        return Verdict.NOISE if min(shares) <= 1 else Verdict.BROKEN


def results(budgets: Sequence[Budget], rounds: Sequence[Sequence[Measured]]) -> list[Result]:
    """Each budget with its rounds. Raises AssertionError where one was not measured, or something else was."""
    for one in rounds:
        assert [measured.budget for measured in one] == list(budgets), (
            f"measured {[measured.budget.what for measured in one]} for {[budget.what for budget in budgets]}"
        )
    return [Result(tuple(of_one)) for of_one in zip(*rounds, strict=True)]


def shown(number: float) -> str:
    """Three digits that count, never an exponent."""
    if number == 0 or abs(number) >= 100:
        return f"{number:,.0f}"
    digits = max(0, 2 - math.floor(math.log10(abs(number))))
    return f"{number:.{digits}f}".rstrip("0").rstrip(".") if digits else f"{number:.0f}"
