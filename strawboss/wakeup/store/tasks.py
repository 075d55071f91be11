"""Tasks: adding, finding, which are available to whom, and how they end."""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    and_,
    bindparam,
    insert,
    select,
    update,
)

from strawboss.wakeup.store.changes import announce
from strawboss.wakeup.store.errors import RefusedError
from strawboss.wakeup.store.schema import task_capabilities, task_needs, tasks

COMPLEXITIES = range(1, 6)
LONGEST_TITLE = 500


class Status(StrEnum):
    PLANNED = "planned"  # a sub-task identified in a cycle that has not delegated it yet
    WAITING = "waiting"  # for an approval
    OPEN = "open"
    IN_PROGRESS = "in_progress"
    COMPLETE = "complete"
    BLOCKED = "blocked"


class Priority(IntEnum):
    LOW = 0
    NORMAL = 1
    HIGH = 2
    URGENT = 3


@dataclass(frozen=True, slots=True)
class NewTask:
    """`deadline` in epoch seconds; `complexity` 1 (trivial) to 5; `files` relative to the agent's workspace."""

    title: str
    created_by: str
    body: str = ""
    priority: Priority = Priority.NORMAL
    deadline: float | None = None
    complexity: int = 3
    files: tuple[str, ...] = ()
    parent: str | None = None
    assignee: str | None = None
    needs: tuple[str, ...] = ()
    capabilities: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Task:
    """A task as stored; times in epoch seconds."""

    id: str
    title: str
    body: str
    status: Status
    priority: Priority
    deadline: float | None
    complexity: int
    files: tuple[str, ...]
    parent: str | None
    assignee: str | None
    created_by: str
    created_at: float
    attempts: int
    lock_holder: str | None
    lock_token: str | None
    lock_expires_at: float | None
    planned_by: str | None
    result: str | None
    reason: str | None
    finished_by: str | None
    finished_at: float | None
    needs: tuple[str, ...] = ()
    capabilities: frozenset[str] = frozenset()


# Questions as they are asked again and again, put together once.
_ids: BindParameter[Any] = bindparam("ids", expanding=True)
NEEDS_OF = (
    select(task_needs.c.task, task_needs.c.needs)
    .where(task_needs.c.task.in_(_ids))
    .order_by(task_needs.c.needs)
)
CAPABILITIES_OF = select(task_capabilities.c.task, task_capabilities.c.capability).where(
    task_capabilities.c.task.in_(_ids)
)
ONE = select(tasks).where(tasks.c.id == bindparam("id"))


def add(
    connection: Connection, new: NewTask, now: float, status: Status = Status.OPEN, cycle: str | None = None
) -> str:
    """Store a task and return its id. Raises RefusedError for an empty title, an unknown need or parent, a wrong complexity.

    A task can only need tasks that are there already, so needs never form a circle.
    """
    _check(connection, new)
    task = f"task-{secrets.token_hex(4)}"
    connection.execute(insert(tasks).values(id=task, status=status, planned_by=cycle, **_columns(new, now)))
    for need in sorted(set(new.needs)):
        connection.execute(insert(task_needs).values(task=task, needs=need))
    for capability in sorted(new.capabilities):
        connection.execute(insert(task_capabilities).values(task=task, capability=capability))
    if status is Status.OPEN:
        announce(connection, new.assignee)
    return task


def _check(connection: Connection, new: NewTask) -> None:
    if not new.title.strip() or len(new.title) > LONGEST_TITLE:
        raise RefusedError(f"a task needs a title of 1 to {LONGEST_TITLE} characters")
    if new.complexity not in COMPLEXITIES:
        raise RefusedError(f"complexity {new.complexity} is not one of 1 to 5")
    for other in [*new.needs, *([new.parent] if new.parent else [])]:
        find(connection, other)


def _columns(new: NewTask, now: float) -> dict[str, object]:
    return {
        "title": new.title.strip(),
        "body": new.body,
        "priority": int(new.priority),
        "deadline": new.deadline,
        "complexity": new.complexity,
        "files": json.dumps(new.files),
        "parent": new.parent,
        "assignee": new.assignee,
        "created_by": new.created_by,
        "created_at": now,
        "attempts": 0,
    }


def find(connection: Connection, task: str) -> Task:
    """One task. Raises RefusedError when there is none of that id."""
    row = connection.execute(ONE, {"id": task}).mappings().first()
    if row is None:
        raise RefusedError(f"there is no task {task!r}; `strawboss task list` shows them")
    return read_tasks(connection, [row])[0]


def listed(connection: Connection, statuses: Collection[Status] = tuple(Status)) -> list[Task]:
    """All tasks in one of the statuses: highest priority first, then oldest first."""
    chosen = select(tasks).where(tasks.c.status.in_(list(statuses)))
    ordered = chosen.order_by(tasks.c.priority.desc(), tasks.c.created_at, tasks.c.id)
    return read_tasks(connection, connection.execute(ordered).mappings().all())


def chain(connection: Connection, task: Task) -> list[Task]:
    """The parents of a task, nearest first."""
    found: list[Task] = []
    while task.parent is not None and task.parent not in {one.id for one in found}:
        task = find(connection, task.parent)
        found.append(task)
    return found


def finish(
    connection: Connection, task: str, token: str, status: Status, words: str, *, by: str, now: float
) -> bool:
    """End a task under its lock, with a result or the reason it is blocked. False: the lock is no longer ours."""
    held = and_(tasks.c.lock_token == token, tasks.c.status == Status.IN_PROGRESS)
    return _end(connection, task, held, status, words, by, now)


def end(connection: Connection, task: str, status: Status, words: str, *, by: str, now: float) -> bool:
    """End a task whoever holds it. False: it has ended already."""
    running = tasks.c.status.not_in([Status.COMPLETE, Status.BLOCKED])
    return _end(connection, task, running, status, words, by, now)


def _end(
    connection: Connection,
    task: str,
    condition: ColumnElement[bool],
    status: Status,
    words: str,
    by: str,
    now: float,
) -> bool:
    said = {"result": words} if status is Status.COMPLETE else {"reason": words}
    values = {"status": status, "finished_by": by, "finished_at": now, **UNLOCKED, **said}
    changed = connection.execute(update(tasks).where(tasks.c.id == task, condition).values(**values)).rowcount
    if changed and status is Status.COMPLETE:
        announce(connection, None)  # others may have waited for it
    return changed == 1


UNLOCKED: dict[str, Any] = {"lock_holder": None, "lock_token": None, "lock_expires_at": None}


def reopen(connection: Connection, task: str) -> bool:
    """Make a blocked task available again, with its attempts counted anew. False: it is not blocked."""
    fresh = {"status": Status.OPEN, "attempts": 0, "reason": None, "finished_by": None, "finished_at": None}
    change = update(tasks).where(tasks.c.id == task, tasks.c.status == Status.BLOCKED)
    changed = connection.execute(change.values(**fresh)).rowcount
    if changed:
        announce(connection, None)
    return changed == 1


def publish(connection: Connection, cycle: str, parent: str) -> list[Task]:
    """Delegate the sub-tasks that were planned in this cycle under `parent`: from now on they are available."""
    planned = and_(tasks.c.planned_by == cycle, tasks.c.parent == parent, tasks.c.status == Status.PLANNED)
    rows = (
        connection.execute(select(tasks).where(planned).order_by(tasks.c.created_at, tasks.c.id))
        .mappings()
        .all()
    )
    connection.execute(update(tasks).where(planned).values(status=Status.OPEN, planned_by=None))
    if rows:
        announce(connection, None)
    return read_tasks(connection, rows)


def drop_planned(connection: Connection, cycle: str) -> int:
    """Forget what an abandoned cycle had planned: the next one to take the task plans anew. Returns how many."""
    planned = and_(tasks.c.planned_by == cycle, tasks.c.status == Status.PLANNED)
    doomed = select(tasks.c.id).where(planned)
    for side in (task_needs, task_capabilities):
        connection.execute(side.delete().where(side.c.task.in_(doomed)))
    return connection.execute(tasks.delete().where(planned)).rowcount


def unmet(connection: Connection, task: str) -> list[str]:
    """The needs of a task that are not complete."""
    needed = task_needs.join(tasks, tasks.c.id == task_needs.c.needs)
    open_ones = (
        select(tasks.c.id)
        .select_from(needed)
        .where(task_needs.c.task == task, tasks.c.status != Status.COMPLETE)
    )
    return list(connection.execute(open_ones.order_by(tasks.c.id)).scalars())


def read_tasks(connection: Connection, rows: Sequence[RowMapping]) -> list[Task]:
    ids = {"ids": [row["id"] for row in rows]}
    needs, capabilities = _gathered(connection, NEEDS_OF, ids), _gathered(connection, CAPABILITIES_OF, ids)
    return [_task(row, needs.get(row["id"], []), capabilities.get(row["id"], [])) for row in rows]


def _gathered(
    connection: Connection, question: Select[str, str], ids: dict[str, Any]
) -> dict[str, list[str]]:
    gathered: dict[str, list[str]] = {}
    for task, item in connection.execute(question, ids):
        gathered.setdefault(task, []).append(item)
    return gathered


def _task(row: RowMapping, needs: list[str], capabilities: list[str]) -> Task:
    columns: dict[str, Any] = dict(row)
    columns["status"] = Status(columns["status"])
    columns["priority"] = Priority(columns["priority"])
    columns["files"] = tuple(json.loads(columns["files"]))
    return Task(**columns, needs=tuple(needs), capabilities=frozenset(capabilities))
