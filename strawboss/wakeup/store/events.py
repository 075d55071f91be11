"""The event history: what every cycle and every monitor did, before and after doing it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, insert, select

from strawboss.wakeup.store.schema import events


@dataclass(frozen=True, slots=True)
class Event:
    """`event` is one of the words in docs/wakeup.md; `at` in epoch seconds."""

    id: int
    at: float
    agent: str
    cycle: str | None
    event: str
    task: str | None
    detail: str


def record(
    connection: Connection,
    agent: str,
    event: str,
    detail: str,
    now: float,
    *,
    cycle: str | None = None,
    task: str | None = None,
) -> None:
    """Append one event."""
    row = {"at": now, "agent": agent, "cycle": cycle, "event": event, "task": task, "detail": detail}
    connection.execute(insert(events).values(row))


def history(connection: Connection, last: int, agent: str | None = None) -> list[Event]:
    """The last events, oldest first, of all agents or of one."""
    newest = select(events).order_by(events.c.id.desc()).limit(last)
    if agent is not None:
        newest = newest.where(events.c.agent == agent)
    return [Event(**row) for row in connection.execute(newest).mappings()][::-1]
