"""What the steps of a cycle know and learn, and what each of them says."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

from strawboss.wakeup.agents import Agent, Registry
from strawboss.wakeup.context import Understanding
from strawboss.wakeup.execute import Execution
from strawboss.wakeup.keep_alive import KeepAlive
from strawboss.wakeup.selection import Score
from strawboss.wakeup.store.checkout import Lease
from strawboss.wakeup.store.cycles import Cycle
from strawboss.wakeup.store.database import Database
from strawboss.wakeup.store.tasks import Task


class Turn(Enum):
    """Where the cycle goes after a step."""

    NEXT = "the next step"
    SELECT = "back to step 4"
    FETCH = "back to step 3"
    END = "the cycle is over"


@dataclass(frozen=True, slots=True)
class Outcome:
    """`status` as the table shows it: done, failed, conflict."""

    status: str
    detail: str
    turn: Turn = Turn.NEXT


@dataclass(frozen=True, slots=True)
class Noticed:
    """What a cycle has seen before it ended: the available tasks, and the number of the newest message."""

    tasks: frozenset[str]
    message: int


@dataclass(slots=True)
class Context:
    """What the steps know and learn. The second half is about the task in hand and starts anew with each."""

    agent: Agent
    registry: Registry
    database: Database
    cycle: Cycle
    keep_alive: KeepAlive
    candidates: list[Score] = field(default_factory=list)
    noticed: Noticed | None = None
    broken_off: bool = False  # its last cycle did not come to its end
    task: Task | None = None
    lease: Lease | None = None
    known: Understanding | None = None
    execution: Execution | None = None

    def notice(self, found: list[Task]) -> None:
        """These tasks need no waking for any more."""
        before = self.noticed or Noticed(frozenset(), 0)
        self.noticed = replace(before, tasks=frozenset(task.id for task in found))

    def forget_task(self) -> None:
        """The next one starts with nothing known."""
        self.task = self.lease = self.known = self.execution = None

    @property
    def chosen(self) -> Task:
        assert self.task is not None
        return self.task

    @property
    def lock(self) -> Lease:
        assert self.lease is not None
        return self.lease
