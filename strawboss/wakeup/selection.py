"""Which task first: a score over priority, deadline, complexity and budget (docs/wakeup.md#the-score)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from strawboss.wakeup.store.tasks import Task

# One step of priority weighs more than everything else together: "pick the highest-priority task", and the rest
# decides among equals.
PRIORITY_WEIGHT = 100.0
DEADLINE_WEIGHT = 50.0
MATCH_WEIGHT = 30.0
BUDGET_WEIGHT = 19.0
# A deadline that far away does not press yet.
DEADLINE_HORIZON_SECONDS = 7 * 24 * 3600.0
# What a task of each complexity usually costs, in tokens.
USUAL_TOKENS = {1: 2_000, 2: 5_000, 3: 10_000, 4: 20_000, 5: 40_000}
WIDEST_GAP = 4


@dataclass(frozen=True, slots=True)
class Score:
    """One task's score and its four parts, each part between 0 and its weight (priority: 0 to 3 times its weight)."""

    task: Task
    priority: float
    deadline: float
    match: float
    budget: float

    @property
    def total(self) -> float:
        return self.priority + self.deadline + self.match + self.budget


def ranked(
    tasks: Sequence[Task], levels: Mapping[str, int], remaining: int | None, now: float
) -> list[Score]:
    """Best first; equals by age, then id. `remaining` tokens, None without a limit: with none left there is no task."""
    if remaining is not None and remaining <= 0:
        return []
    scores = [score(task, levels, remaining, now) for task in tasks]
    return sorted(scores, key=lambda one: (-one.total, one.task.created_at, one.task.id))


def score(task: Task, levels: Mapping[str, int], remaining: int | None, now: float) -> Score:
    """The score of one task for an agent with these capability levels and this budget."""
    return Score(
        task,
        PRIORITY_WEIGHT * task.priority,
        DEADLINE_WEIGHT * pressure(task.deadline, now),
        MATCH_WEIGHT * match(task.complexity, level(task, levels)),
        BUDGET_WEIGHT * affordability(task.complexity, remaining),
    )


def pressure(deadline: float | None, now: float) -> float:
    """0 without a deadline or a week ahead of it, rising evenly to 1 at the deadline and after it."""
    if deadline is None:
        return 0.0
    return min(1.0, max(0.0, 1.0 - (deadline - now) / DEADLINE_HORIZON_SECONDS))


def level(task: Task, levels: Mapping[str, int]) -> int:
    """How good the agent is at this task: its weakest needed capability, or its best when none is asked for."""
    needed = [levels.get(capability, 1) for capability in task.capabilities]
    return min(needed) if needed else max(levels.values(), default=3)


def match(complexity: int, skill: int) -> float:
    """1 when the complexity equals the level, less with every step between them."""
    return 1.0 - abs(complexity - skill) / WIDEST_GAP


def affordability(complexity: int, remaining: int | None) -> float:
    """The part of the task's usual cost that the budget still covers, at most 1."""
    return 1.0 if remaining is None else min(1.0, remaining / USUAL_TOKENS[complexity])
