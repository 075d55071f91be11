"""Which process runs which agent: one row for each wake-up, open until the process has ended in order."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from sqlalchemy import Connection, RowMapping, insert, select, update

from strawboss.system.process_identity import ProcessIdentity
from strawboss.wakeup.store import heartbeats
from strawboss.wakeup.store.schema import cycles
from strawboss.wakeup.store.schema import heartbeats as beats


@dataclass(frozen=True, slots=True)
class Cycle:
    """A wake-up of an agent. `command` is the process of the agent's command while one runs.

    `every` (seconds) is set when the agent goes on waking by itself; `host` tells whose pids these are.
    """

    id: str
    agent: str
    host: str
    process: ProcessIdentity
    command: ProcessIdentity | None
    every: float | None
    began_at: float
    ended_at: float | None
    outcome: str | None


def begin(
    connection: Connection, agent: str, host: str, process: ProcessIdentity, every: float | None, now: float
) -> Cycle:
    """Note that this process now runs the agent, with its first heartbeat."""
    cycle = Cycle(f"cycle-{secrets.token_hex(6)}", agent, host, process, None, every, now, None, None)
    where = {"host": host, "boot": process.boot, "namespace": process.namespace, "machine": process.machine}
    who = {"id": cycle.id, "agent": agent, "pid": process.pid, "started": process.started}
    connection.execute(insert(cycles).values(every=every, began_at=now, **who, **where))
    heartbeats.begin(connection, agent, cycle.id, now)
    return cycle


def place(host: str, boot: str, namespace: str) -> str:
    """Where a pid means something: whoever watches that place sees its processes."""
    return f"{boot or host}/{namespace}"


def note_command(connection: Connection, cycle: str, command: ProcessIdentity | None) -> None:
    """Note which process is the agent's command, or that none runs any more."""
    pid, started = (command.pid, command.started) if command else (None, None)
    connection.execute(
        update(cycles).where(cycles.c.id == cycle).values(command_pid=pid, command_started=started)
    )


def end(connection: Connection, cycle: str, outcome: str, now: float) -> bool:
    """Close a wake-up. False: somebody closed it before."""
    still_open = update(cycles).where(cycles.c.id == cycle, cycles.c.ended_at.is_(None))
    return connection.execute(still_open.values(ended_at=now, outcome=outcome)).rowcount == 1


def unfinished(connection: Connection, agent: str) -> list[Cycle]:
    """The wake-ups of an agent that never ended in order, oldest first."""
    chosen = (
        select(cycles).where(cycles.c.agent == agent, cycles.c.ended_at.is_(None)).order_by(cycles.c.began_at)
    )
    return [_cycle(row) for row in connection.execute(chosen).mappings()]


def is_open(connection: Connection, cycle: str) -> bool:
    """Whether a wake-up still counts: a monitor or the next wake-up may have closed it."""
    chosen = select(cycles.c.id).where(cycles.c.id == cycle, cycles.c.ended_at.is_(None))
    return connection.execute(chosen).first() is not None


def latest(connection: Connection) -> dict[str, Cycle]:
    """The last wake-up of every agent that ever had one."""
    rows = connection.execute(select(cycles).join(beats, beats.c.cycle == cycles.c.id)).mappings()
    return {row["agent"]: _cycle(row) for row in rows}


def _cycle(found: RowMapping) -> Cycle:
    place = {key: found[key] for key in ("boot", "namespace", "machine")}
    command = None
    if found["command_pid"] is not None:
        command = ProcessIdentity(found["command_pid"], found["command_started"], **place)
    process = ProcessIdentity(found["pid"], found["started"], **place)
    rest = {key: found[key] for key in ("id", "agent", "host", "every", "began_at", "ended_at", "outcome")}
    return Cycle(process=process, command=command, **rest)
