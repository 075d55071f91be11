"""Wake-ups that ended without saying so: their lock comes free, their leftovers end, the next cycle goes on."""

from __future__ import annotations

import socket

from sqlalchemy import Connection

from strawboss.system.process_identity import Liveness, here, liveness
from strawboss.wakeup.processes import end_tree
from strawboss.wakeup.store import checkout, cycles, events, heartbeats, tasks
from strawboss.wakeup.store.cycles import Cycle
from strawboss.wakeup.store.database import Database
from strawboss.wakeup.store.heartbeats import Heartbeat
from strawboss.wakeup.store.tasks import Status, Task

# What a person stops is no attempt of the agent's.
INTERRUPTED = "interrupted"


class StillRunningError(Exception):
    """The agent runs already, or nobody can tell that it does not; `str()` is one line."""


def host() -> str:
    """The name of this machine, for people."""
    return socket.gethostname()


def own_place() -> str:
    """The place whose processes we can see, as `cycles.place` names it."""
    return cycles.place(host(), here().boot, here().namespace)


def place_of(cycle: Cycle) -> str:
    """The place of a wake-up's process."""
    return cycles.place(cycle.host, cycle.process.boot, cycle.process.namespace)


def recover(database: Database, agent: str, timeout: float) -> list[Cycle]:
    """Close every wake-up of this agent whose process is gone; returns them.

    One in another place is gone when it holds no lock and has not beaten for `timeout` seconds. Raises
    StillRunningError when one may be alive: two of one agent would share its heartbeat and its work.
    """
    now = database.now()
    with database.read() as connection:
        unfinished = cycles.unfinished(connection, agent)
        locked = {cycle.id: holds(connection, cycle, now) for cycle in unfinished}
        beat = heartbeats.all_beats(connection).get(agent)
    for cycle in unfinished:
        _must_be_gone(cycle, locked[cycle.id] or _beats(cycle, beat, now - timeout))
        _end_leftovers(cycle)
        with database.write() as connection:
            close(connection, cycle, "abandoned", now)
    return unfinished


def _beats(cycle: Cycle, beat: Heartbeat | None, since: float) -> bool:
    return beat is not None and beat.cycle == cycle.id and beat.at >= since


def _must_be_gone(cycle: Cycle, shows_life: bool) -> None:
    process = liveness(cycle.process)
    elsewhere = place_of(cycle) != own_place()
    if process is Liveness.SAME:
        raise StillRunningError(f"{cycle.agent} runs already (pid {cycle.process.pid})")
    if process is Liveness.UNKNOWN and (shows_life or not elsewhere):
        where = f" on {cycle.host}" if elsewhere else ""
        raise StillRunningError(
            f"{cycle.agent} may still run{where} (pid {cycle.process.pid}); it cannot be told"
        )


def _end_leftovers(cycle: Cycle) -> None:
    # Another place is not ours to clear up, and its pids are not ours to signal.
    if liveness(cycle.process) is Liveness.UNKNOWN:
        return
    if not end_tree([cycle.command] if cycle.command else [], cycle.id):
        pid = cycle.command.pid if cycle.command else "unknown"
        raise StillRunningError(f"a command that {cycle.agent} left behind cannot be ended (pid {pid})")


def holds(connection: Connection, cycle: Cycle, now: float) -> bool:
    """Whether a wake-up has a task under a lock that has not run out."""
    return any((task.lock_expires_at or 0) > now for task in tasks_of(connection, cycle))


def tasks_of(connection: Connection, cycle: Cycle) -> list[Task]:
    """The tasks this very wake-up has checked out."""
    held = checkout.held(connection, cycle.agent)
    return [task for task in held if (task.lock_token or "").startswith(f"{cycle.id}/")]


def close(connection: Connection, cycle: Cycle, outcome: str, now: float) -> list[Task]:
    """Give back what a wake-up held, settle its sub-tasks, and end it. Returns the tasks given back."""
    released = tasks_of(connection, cycle)
    for task in released:
        checkout.release(connection, task.id, task.lock_token or "", counts=outcome != INTERRUPTED)
    _settle_planned(connection, cycle)
    if cycles.end(connection, cycle.id, outcome, now):
        given_back = ", ".join(task.id for task in released) or "nothing"
        detail = f"{outcome}; gave back {given_back}"
        events.record(connection, cycle.agent, "cycle ended", detail, now, cycle=cycle.id)
    return released


def _settle_planned(connection: Connection, cycle: Cycle) -> None:
    # Killed between update and delegate: the result stands, so do its sub-tasks. Killed before: they are planned anew.
    for task in tasks.listed(connection, [Status.PLANNED]):
        if task.planned_by == cycle.id and task.parent:
            parent = tasks.find(connection, task.parent)
            if parent.status in (Status.COMPLETE, Status.BLOCKED):
                tasks.publish(connection, cycle.id, parent.id)
    tasks.drop_planned(connection, cycle.id)
