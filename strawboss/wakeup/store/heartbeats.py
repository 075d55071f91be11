"""The last heartbeat of every agent, where each machine that shares the store can see it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, select, update

from strawboss.wakeup.store.insert import insert_if_absent
from strawboss.wakeup.store.schema import heartbeats

BEAT = (
    update(heartbeats)
    .where(heartbeats.c.agent == bindparam("who"), heartbeats.c.cycle == bindparam("wakeup"))
    .values(at=bindparam("now"), quiet=bindparam("silence"), message=bindparam("words"))
)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """`at` on the store's clock; `quiet` is how long (seconds) its command had shown no progress then."""

    agent: str
    cycle: str
    at: float
    quiet: float
    message: str


def begin(connection: Connection, agent: str, cycle: str, now: float) -> None:
    """The first beat of a wake-up; from now on those of an earlier one do not count."""
    row = {"agent": agent, "cycle": cycle, "at": now, "quiet": 0.0, "message": "waking up"}
    if not insert_if_absent(connection, heartbeats, row):
        connection.execute(update(heartbeats).where(heartbeats.c.agent == agent).values(row))


def beat(connection: Connection, agent: str, cycle: str, message: str, quiet: float, now: float) -> bool:
    """Write a beat. False: the agent has been woken elsewhere since."""
    said = {"who": agent, "wakeup": cycle, "now": now, "silence": quiet, "words": message}
    return connection.execute(BEAT, said).rowcount == 1


def all_beats(connection: Connection) -> dict[str, Heartbeat]:
    """The last beat of every agent that ever woke, by agent."""
    return {row.agent: Heartbeat(*row) for row in connection.execute(select(heartbeats))}
