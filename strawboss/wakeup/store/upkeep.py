"""What keeps a store well over the years: what is long over is forgotten, and what contradicts itself is found."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlalchemy import Connection, Table, and_, exists, func, select

from strawboss.wakeup.store.actions import ACTION_WINDOW_SECONDS
from strawboss.wakeup.store.engines import kind_of
from strawboss.wakeup.store.schema import (
    actions,
    approvals,
    cycles,
    events,
    heartbeats,
    hosts,
    messages,
    metadata,
    task_capabilities,
    task_needs,
    tasks,
)
from strawboss.wakeup.store.tasks import Status

Complaints = Iterator[str]


def prune(connection: Connection, before: float, now: float) -> dict[str, int]:
    """Forget what is older than `before` (epoch seconds) and over: how many of what. Tasks and their results stay.

    The last wake-up of each agent stays too, and the actions that still count against the limit of an hour. A place that
    nobody has watched since then was a container, or a boot, that will not come again.
    """
    last = select(heartbeats.c.cycle)
    doomed = {
        events: events.c.at < before,
        cycles: and_(cycles.c.ended_at < before, cycles.c.id.not_in(last)),
        actions: actions.c.claimed_at < min(before, now - ACTION_WINDOW_SECONDS),
        messages: messages.c.read_at < before,
        hosts: hosts.c.watched_until < before,
    }
    return {
        table.name: connection.execute(table.delete().where(condition)).rowcount
        for table, condition in doomed.items()
    }


def open_cycles(connection: Connection) -> list[str]:
    """The wake-ups that have not ended."""
    return list(connection.execute(select(cycles.c.id).where(cycles.c.ended_at.is_(None))).scalars())


def counts(connection: Connection) -> dict[str, int]:
    """How many rows there are, by table."""
    return {
        table.name: connection.execute(select(func.count()).select_from(table)).scalar_one()
        for table in metadata.sorted_tables
    }


def complaints(connection: Connection) -> list[str]:
    """Everything that is not as it must be, one line each; raises StoreError for what cannot even be read."""
    return [complaint for check in CHECKS for complaint in check(connection)]


def _engine(connection: Connection) -> Complaints:
    yield from kind_of(connection).faults(connection)


def _pages(connection: Connection) -> Complaints:
    # Every row is fetched: a page that cannot be read is an error of the engine.
    for table in metadata.sorted_tables:
        for _ in connection.execute(select(table)):
            pass
    yield from ()


def _words(connection: Connection) -> Complaints:
    strange = tasks.c.status.not_in([status.value for status in Status])
    for row in connection.execute(select(tasks.c.id, tasks.c.status).where(strange)):
        yield f"{row.id}: its status is {row.status!r}, which is none"


def _locks(connection: Connection) -> Complaints:
    locked = tasks.c.lock_token.is_not(None)
    working = tasks.c.status == Status.IN_PROGRESS
    for row in connection.execute(select(tasks.c.id, tasks.c.status).where(locked != working)):
        is_working = row.status == Status.IN_PROGRESS
        yield f"{row.id}: it is {row.status} {'without' if is_working else 'and has'} a lock"


def _references(connection: Connection) -> Complaints:
    for table, column, target in REFERENCES:
        named = target.alias("named")
        there = exists().where(named.c.id == table.c[column])
        lost = select(table.c[column]).where(table.c[column].is_not(None), ~there)
        for value in connection.execute(lost).scalars():
            yield f"{table.name}: {column} {value} is not there"


def _circles(connection: Connection) -> Complaints:
    ahead = select(task_needs.c.task, task_needs.c.needs).cte("ahead", recursive=True)
    further = select(ahead.c.task, task_needs.c.needs).where(task_needs.c.task == ahead.c.needs)
    ahead = ahead.union(further)
    around = select(ahead.c.task).where(ahead.c.task == ahead.c.needs)
    for task in connection.execute(around).scalars():
        yield f"{task}: it waits for itself"


REFERENCES: tuple[tuple[Table, str, Table], ...] = (
    (task_needs, "task", tasks),
    (task_needs, "needs", tasks),
    (task_capabilities, "task", tasks),
    (tasks, "parent", tasks),
    (approvals, "task", tasks),
    (heartbeats, "cycle", cycles),
)
CHECKS: tuple[Callable[[Connection], Complaints], ...] = (
    _engine,
    _pages,
    _words,
    _locks,
    _references,
    _circles,
)
