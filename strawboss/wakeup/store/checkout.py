"""Checkout: a task is locked by one holder until it ends, is released, or the lock runs out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection, bindparam, select, update

from strawboss.wakeup.store import tasks as store
from strawboss.wakeup.store.available import AVAILABLE, wanted_by
from strawboss.wakeup.store.changes import announce
from strawboss.wakeup.store.prepared import Prepared
from strawboss.wakeup.store.schema import tasks
from strawboss.wakeup.store.tasks import UNLOCKED, Status, Task


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on a task until `expires_at` (epoch seconds). `token` proves it; a later holder has another."""

    task: str
    holder: str
    token: str
    expires_at: float


@dataclass(frozen=True, slots=True)
class Conflict:
    """The 409 of step 5: somebody was faster, or the task is not to be had at all."""

    task: str
    why: str


WANTED = (
    select(tasks.c.id).where(tasks.c.id == bindparam("wanted"), AVAILABLE).with_for_update(skip_locked=True)
)
# One statement that looks, locks and takes. Not correlated: the inner row is judged and locked before the outer is touched.
TAKE = Prepared(
    update(tasks)
    .where(tasks.c.id == WANTED.correlate(None).scalar_subquery())
    .values(
        status=Status.IN_PROGRESS,
        attempts=tasks.c.attempts + 1,
        lock_holder=bindparam("holder"),
        lock_token=bindparam("token"),
        lock_expires_at=bindparam("until"),
    )
)


def checkout(
    connection: Connection,
    task: str,
    holder: str,
    capabilities: Iterable[str],
    token: str,
    now: float,
    seconds: float,
) -> Lease | Conflict:
    """Lock a task for `seconds`. Raises RefusedError when there is no such task.

    On PostgreSQL a row that another transaction is locking is skipped, not waited for; on SQLite the transaction has
    the whole store to itself.
    """
    able = set(capabilities)
    wanted = {"wanted": task, **wanted_by(holder, able, now)}
    lock = {"holder": holder, "token": token, "until": now + seconds}
    if TAKE.execute(connection, wanted | lock).rowcount != 1:
        return Conflict(task, _why_not(connection, store.find(connection, task), holder, able))
    return Lease(task, holder, token, now + seconds)


def renew(connection: Connection, lease: Lease, now: float, seconds: float) -> bool:
    """Extend a lock that is still ours. False: it ran out and another took the task, or the task has ended."""
    ours = update(tasks).where(tasks.c.id == lease.task, tasks.c.lock_token == lease.token)
    return connection.execute(ours.values(lock_expires_at=now + seconds)).rowcount == 1


def release(connection: Connection, task: str, token: str, *, counts: bool = True) -> bool:
    """Give a task back unfinished; it was an attempt if that `counts`. False: the lock is not that one."""
    ours = update(tasks).where(tasks.c.id == task, tasks.c.lock_token == token)
    attempts = tasks.c.attempts if counts else tasks.c.attempts - 1
    changed = ours.values(status=Status.OPEN, attempts=attempts, **UNLOCKED)
    if connection.execute(changed).rowcount != 1:
        return False
    announce(connection, None)
    return True


def held(connection: Connection, holder: str) -> list[Task]:
    """The tasks a holder has locked, also those whose lock has run out."""
    return [task for task in store.listed(connection, [Status.IN_PROGRESS]) if task.lock_holder == holder]


def reassign(connection: Connection, task: str, token: str, agent: str) -> bool:
    """Give a task back, meant for another agent. False: the lock is not that one."""
    if not release(connection, task, token):
        return False
    connection.execute(update(tasks).where(tasks.c.id == task).values(assignee=agent))
    return True


def _why_not(connection: Connection, task: Task, holder: str, capabilities: set[str]) -> str:
    unmet = store.unmet(connection, task.id)
    if task.status is Status.IN_PROGRESS and task.lock_expires_at is not None:
        return f"it is locked by {task.lock_holder} until {_clock(task.lock_expires_at)}"
    if task.status is not Status.OPEN:
        return f"it is {task.status.value}"
    if task.assignee not in (None, holder):
        return f"it is meant for {task.assignee}"
    if not task.capabilities <= capabilities:
        return f"it needs {', '.join(sorted(task.capabilities - capabilities))}"
    return f"it waits for {', '.join(unmet)}" if unmet else "somebody is taking it this moment"


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
