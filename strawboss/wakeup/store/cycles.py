"""Which process runs which agent: one row for each wake-up, open until the process has ended in order."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from sqlalchemy import Connection, RowMapping, func, insert, select, update

from strawboss.system.process_identity import ProcessIdentity
from strawboss.wakeup.store.schema import cycles


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
    """Note that this process now runs the agent."""
    cycle = Cycle(f"cycle-{secrets.token_hex(6)}", agent, host, process, None, every, now, None, None)
    who = {"host": host, "pid": process.pid, "started": process.started, "boot": process.boot}
    connection.execute(insert(cycles).values(id=cycle.id, agent=agent, every=every, began_at=now, **who))
    return cycle


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


def latest(connection: Connection) -> dict[str, Cycle]:
    """The last wake-up of every agent that ever had one."""
    order = (cycles.c.began_at.desc(), cycles.c.id.desc())
    rank = func.row_number().over(partition_by=cycles.c.agent, order_by=order).label("rank")
    ranked = select(cycles, rank).subquery()
    rows = connection.execute(select(ranked).where(ranked.c.rank == 1)).mappings()
    return {row["agent"]: _cycle(row) for row in rows}


def _cycle(found: RowMapping) -> Cycle:
    command = None
    if found["command_pid"] is not None:
        command = ProcessIdentity(found["command_pid"], found["command_started"], found["boot"])
    process = ProcessIdentity(found["pid"], found["started"], found["boot"])
    rest = {key: found[key] for key in ("id", "agent", "host", "every", "began_at", "ended_at", "outcome")}
    return Cycle(process=process, command=command, **rest)
