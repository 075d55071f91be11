"""The wake-up cycle: nine steps in a table, each with its event before and after, so that a killed one is found."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from filelock import FileLock, Timeout
from sqlalchemy import Connection

from strawboss.system.directories import state_directory
from strawboss.system.files import FILE_MODE, make_private_directory
from strawboss.system.process_identity import ProcessIdentity, identify
from strawboss.wakeup import steps
from strawboss.wakeup.abandoned import INTERRUPTED, StillRunningError, close, host, recover
from strawboss.wakeup.agents import Agent, Registry
from strawboss.wakeup.keep_alive import KeepAlive
from strawboss.wakeup.step import Context, Noticed, Outcome, Turn
from strawboss.wakeup.steps import RETRY_SECONDS, persistently
from strawboss.wakeup.store import approvals, cycles, events, inbox
from strawboss.wakeup.store.available import available
from strawboss.wakeup.store.changes import listening
from strawboss.wakeup.store.database import Database
from strawboss.wakeup.store.engines.interface import Changed
from strawboss.wakeup.store.errors import StoreError

FETCH, SELECT = 2, 3
# A process that cannot see even itself; the first step says why and ends the cycle.
UNSEEN = ProcessIdentity(0, 0.0, namespace="unseen")


@dataclass(frozen=True, slots=True)
class Step:
    """One step (docs/wakeup.md#the-cycle). `phase` is what the heartbeat says meanwhile (docs/heartbeat.md#the-record)."""

    number: int
    name: str
    phase: str
    act: Callable[[Context], Outcome]

    @property
    def label(self) -> str:
        return f"{self.number}. {self.name}"


STEPS = (
    Step(1, "Identity", "starting", steps.identity),
    Step(2, "Approvals", "starting", steps.settle_approvals),
    Step(3, "Fetch tasks", "starting", steps.fetch),
    Step(4, "Select work", "starting", steps.select),
    Step(5, "Checkout", "starting", steps.take),
    Step(6, "Understand", "implementing", steps.understand),
    Step(7, "Execute", "implementing", steps.perform),
    Step(8, "Update", "committing", steps.update),
    Step(9, "Delegate", "committing", steps.delegate),
)
# The one that takes long.
LONG_STEP = STEPS[6].label
# What Turn means as a position in STEPS; NEXT is the one after.
GOES_TO = {Turn.FETCH: FETCH, Turn.SELECT: SELECT, Turn.END: len(STEPS)}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; `status` is "running" while the step runs."""

    step: str
    status: str
    detail: str


@dataclass(frozen=True, slots=True)
class Rhythm:
    """Seconds: a beat every `interval`, a stall after `timeout`, a new cycle every `every` (None: one cycle)."""

    interval: float
    timeout: float
    every: float | None = None


Show = Callable[[Row], None]


@contextmanager
def woken(agent: Agent, registry: Registry, database: Database, rhythm: Rhythm) -> Iterator[Context]:
    """The agent is awake in this process: alone, its predecessors cleared up, and put to bed whatever happens.

    Raises StillRunningError when it is awake elsewhere, StoreError.
    """
    with _alone(agent):
        if not agent.workspace:
            make_private_directory(agent.directory)
        recover(database, agent.name, rhythm.timeout)
        me = identify(os.getpid()) or UNSEEN
        now = database.now()
        with database.write() as connection:
            cycle = cycles.begin(connection, agent.name, host(), me, rhythm.every, now)
            events.record(connection, agent.name, "cycle began", f"pid {me.pid}", now, cycle=cycle.id)
        parent = os.environ.get("STRAWBOSS_PARENT_ID", "").strip() or "strawboss"
        keep_alive = KeepAlive(agent, cycle.id, parent, database, rhythm.interval, rhythm.timeout)
        context = Context(agent, registry, database, cycle, keep_alive)
        outcome = "failed"
        try:
            yield context
            outcome = "ended"
        except (KeyboardInterrupt, SystemExit):
            outcome = INTERRUPTED
            raise
        finally:
            _put_to_bed(context, outcome)


@contextmanager
def _alone(agent: Agent) -> Iterator[None]:
    # An OS lock: it ends with the process that holds it, whatever kills that.
    directory = make_private_directory(state_directory() / "agents")
    lock = FileLock(directory / f"{agent.name}.lock", timeout=0, mode=FILE_MODE)
    try:
        with lock:
            yield
    except Timeout:
        raise StillRunningError(f"{agent.name} runs already") from None


def _put_to_bed(context: Context, outcome: str) -> None:
    with suppress(StoreError):
        now = context.database.now()
        with context.database.write() as connection:
            close(connection, context.cycle, outcome, now)
    ended = "CLEAN" if outcome == "ended" else "ERRORED"
    with suppress(OSError):
        context.keep_alive.let_go()
        context.keep_alive.beat("terminal", f"wake-up {outcome}", terminal=ended)


def run_cycle(context: Context, show: Show) -> list[Row]:
    """Go through the steps until there is no more work; returns the finished rows.

    Raises StoreError: what the cycle had in hand is given back by the next one, which has a reason to begin soon.
    """
    context.broken_off = True
    context.forget_task()
    rows: list[Row] = []
    position = 0
    while position < len(STEPS):
        outcome = _run(STEPS[position], context, show)
        rows.append(Row(STEPS[position].label, outcome.status, outcome.detail))
        show(rows[-1])
        if outcome.turn is Turn.FETCH:
            context.forget_task()
        position = GOES_TO.get(outcome.turn, position + 1)
    context.broken_off = False
    return rows


def is_open(context: Context) -> bool:
    """Whether this wake-up still counts; nobody has closed it when the store cannot be asked."""
    try:
        with context.database.read() as connection:
            return cycles.is_open(connection, context.cycle.id)
    except StoreError:
        return True


def wait_for_work(context: Context, seconds: float) -> None:
    """Between two cycles: awake, idle and beating, until there is work or `seconds` are over.

    A store that is away is waited out, and asked again as soon as it is back.
    """
    until = time.monotonic() + seconds
    _beat_waiting(context)
    if context.broken_off:
        _rest(context, seconds)
    while (left := until - time.monotonic()) > 0:
        try:
            with listening(context.database, context.agent.name) as changed:
                _until_news(context, changed, until)
                return
        except StoreError:
            _rest(context, left)


def _rest(context: Context, left: float) -> None:
    _beat_idly(context)
    time.sleep(min(left, RETRY_SECONDS, context.keep_alive.until_due))


def _until_news(context: Context, changed: Changed, until: float) -> None:
    while (left := until - time.monotonic()) > 0:
        _beat_idly(context)
        if has_news(context):
            return
        changed(min(left, context.keep_alive.until_due))


def _beat_idly(context: Context) -> None:
    if context.keep_alive.until_due == 0:
        _beat_waiting(context)


def _beat_waiting(context: Context) -> None:
    with suppress(OSError):
        context.keep_alive.beat("polling", "waiting for work", waits=True)


def has_news(context: Context) -> bool:
    """Whether there is something for this agent that its last cycle has not seen. Raises StoreError."""
    agent, database = context.agent, context.database
    now = database.now()
    with database.read() as connection:
        _, found = available(connection, agent.name, agent.levels, now)
        newest = inbox.newest(connection, agent.name)
        decided = any(
            approvals.concerns(connection, one, agent.name) for one in approvals.decided(connection)
        )
    if context.broken_off and context.keep_alive.lease:
        return True  # it has something to give back
    noticed = Noticed(frozenset(), 0) if context.broken_off else context.noticed
    if noticed is None:  # its last cycle did not get that far, and would not get further now
        context.noticed = Noticed(frozenset(task.id for task in found), newest)
        return False
    return decided or newest > noticed.message or any(task.id not in noticed.tasks for task in found)


def _run(step: Step, context: Context, show: Show) -> Outcome:
    show(Row(step.label, "running", "..."))
    with suppress(OSError):
        context.keep_alive.record(step.phase, f"{step.label}{_about(context)}")
    _record(context, f"{step.label}: began", "")
    outcome = step.act(context)
    _record(context, f"{step.label}: {outcome.status}", outcome.detail)
    return outcome


def _about(context: Context) -> str:
    return f": {context.task.title}" if context.task else ""


def _record(context: Context, event: str, detail: str) -> None:
    def write(connection: Connection) -> None:
        now, task = context.database.now(), context.task.id if context.task else None
        context.keep_alive.tell(connection)
        events.record(connection, context.agent.name, event, detail, now, cycle=context.cycle.id, task=task)

    if context.execution is not None:  # there is a result to lose
        persistently(context, write)
        return
    with context.database.write() as connection:
        write(connection)
