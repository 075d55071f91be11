"""Which tasks are available to whom (docs/wakeup.md#the-cycle), and which have worn out too many cycles."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, and_, bindparam, case, exists, func, or_, select

from strawboss.wakeup.store.schema import task_capabilities, task_needs, tasks
from strawboss.wakeup.store.tasks import Status, Task, end, read_tasks

# A task that ended that many cycles without a result is a trap, not work.
MOST_ATTEMPTS = 3
# Candidates a cycle looks at; the best of a longer queue, by priority and deadline.
MOST_CANDIDATES = 32

# Conditions and questions as they are asked again and again, put together once.
_needed = tasks.alias("needed")
# A lock that has run out belongs to a cycle that is gone or has lost its right to the task. The first condition is for
# the index: however many tasks have ended, they are not looked at.
FREE = and_(
    tasks.c.status.in_([Status.OPEN, Status.IN_PROGRESS]),
    or_(tasks.c.status == Status.OPEN, tasks.c.lock_expires_at <= bindparam("now")),
)
_unmet_need = and_(
    task_needs.c.task == tasks.c.id, _needed.c.id == task_needs.c.needs, _needed.c.status != Status.COMPLETE
)
NEEDS_MET = ~exists().where(_unmet_need).correlate(tasks)
MEANT_FOR = or_(tasks.c.assignee.is_(None), tasks.c.assignee == bindparam("agent"))
_beyond = task_capabilities.c.capability.not_in(bindparam("able", expanding=True))
WITHIN = ~exists().where(task_capabilities.c.task == tasks.c.id, _beyond).correlate(tasks)
# Free, all its needs complete, meant for this agent or anybody, and within its capabilities: see `wanted_by`.
AVAILABLE = and_(FREE, NEEDS_MET, MEANT_FOR, WITHIN)
_undated = case((tasks.c.deadline.is_(None), 1), else_=0)
_best_first = (tasks.c.priority.desc(), _undated, tasks.c.deadline, tasks.c.created_at, tasks.c.id)
BEST_AVAILABLE = (
    select(tasks.c.id, func.count().over()).where(AVAILABLE).order_by(*_best_first).limit(MOST_CANDIDATES)
)
BY_ID = select(tasks).where(tasks.c.id.in_(bindparam("ids", expanding=True))).order_by(*_best_first)
WORN_OUT = select(tasks.c.id).where(tasks.c.attempts >= MOST_ATTEMPTS, FREE).with_for_update(skip_locked=True)


def wanted_by(agent: str, capabilities: Iterable[str], now: float) -> dict[str, Any]:
    """The parameters of AVAILABLE."""
    return {"agent": agent, "able": sorted(capabilities), "now": now}


def available(
    connection: Connection, agent: str, capabilities: Iterable[str], now: float
) -> tuple[int, list[Task]]:
    """How many tasks are available, and the best MOST_CANDIDATES of them by priority, deadline and age."""
    best = connection.execute(BEST_AVAILABLE, wanted_by(agent, capabilities, now)).all()
    if not best:
        return 0, []
    rows = connection.execute(BY_ID, {"ids": [task for task, _ in best]}).mappings().all()
    return best[0][1], read_tasks(connection, rows)


def block_worn_out(connection: Connection, now: float) -> list[str]:
    """Block the tasks whose last of MOST_ATTEMPTS attempts ended without a result; returns their ids."""
    found = connection.execute(WORN_OUT, {"now": now}).scalars().all()
    why = f"{MOST_ATTEMPTS} attempts ended without a result"
    for task in found:
        end(connection, task, Status.BLOCKED, why, by="strawboss", now=now)
    return list(found)
