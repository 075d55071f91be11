"""The nine steps of the wake-up cycle, each a function of one context (docs/wakeup.md#the-cycle)."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection

from strawboss.system.directories import state_directory
from strawboss.system.process_identity import ProcessIdentity, here
from strawboss.wakeup import confine, selection
from strawboss.wakeup import context as reading
from strawboss.wakeup.agents import Agent
from strawboss.wakeup.context import ContextError
from strawboss.wakeup.execute import Ended, Execution, Order, execute
from strawboss.wakeup.keep_alive import SUPERSEDED
from strawboss.wakeup.step import Context, Noticed, Outcome, Turn
from strawboss.wakeup.store import approvals, available, budgets, checkout, cycles, inbox, tasks
from strawboss.wakeup.store.checkout import Conflict
from strawboss.wakeup.store.errors import StoreError
from strawboss.wakeup.store.tasks import Status, Task

# What a command inherits of ours would make it act for somebody else.
OWN_VARIABLES = ("STRAWBOSS_AGENT", "STRAWBOSS_TASK", "STRAWBOSS_CYCLE", "STRAWBOSS_SCOPE")
RETRY_SECONDS = 1.0
T = TypeVar("T")


def identity(context: Context) -> Outcome:
    """1. Who is this, where may it work, and can it be started at all."""
    agent = context.agent
    if complaint := _unable(agent):
        return Outcome("failed", complaint, Turn.END)
    who = [agent.name, agent.title or agent.role or "no title", f"scope: {agent.scope}"]
    return Outcome("done", " / ".join(who) + _enforcement(agent))


def _unable(agent: Agent) -> str:
    return _workspace_complaint(agent) or _command_complaint(agent) or _sight_complaint()


def _sight_complaint() -> str:
    # What cannot be seen cannot be ended, and what it starts would go on for ever.
    return "" if here().sees else "/proc shows the processes of another pid namespace; mount one for this one"


def _enforcement(agent: Agent) -> str:
    held = agent.scope != "read-only" or confine.enforceable()
    return "" if held else " (told to the command; this system cannot enforce it)"


def _workspace_complaint(agent: Agent) -> str:
    if not agent.directory.is_dir():
        return f"its workspace {agent.directory} is not a directory"
    needed = os.R_OK | os.X_OK | (os.W_OK if agent.scope == "read-write" else 0)
    return (
        ""
        if os.access(agent.directory, needed)
        else f"its workspace {agent.directory} is not open to it ({agent.scope})"
    )


def _command_complaint(agent: Agent) -> str:
    if not agent.argv:
        return f"it has no command; write one for {agent.name} in the agent registry"
    program = agent.argv[0]
    found = shutil.which(agent.directory / program if os.sep in program else program)
    return "" if found else f"its command {program!r} is not to be found"


def settle_approvals(context: Context) -> Outcome:
    """2. Act on what was approved or denied; count its own that still wait, and look into its inbox."""
    now, name = context.database.now(), context.agent.name
    with context.database.write() as connection:
        settled = [
            one for one in approvals.settle(connection, now) if approvals.concerns(connection, one, name)
        ]
        pending = [one for one in approvals.pending(connection) if approvals.concerns(connection, one, name)]
        unread = inbox.inbox(connection, name)
    counts = [f"{len(settled)} processed"] if settled else []
    messages = [_counted(len(unread), "message")] if unread else []
    context.noticed = Noticed(frozenset(), max((one.id for one in unread), default=0))
    return Outcome("done", ", ".join([*counts, f"{len(pending)} pending", *messages]))


def fetch(context: Context) -> Outcome:
    """3. What is available to this agent; tasks that keep ending cycles are taken out."""
    now = context.database.now()
    with context.database.write() as connection:
        if not cycles.is_open(connection, context.cycle.id):
            return Outcome("failed", SUPERSEDED, Turn.END)
        _give_back(context, connection)
        available.block_worn_out(connection, now)
        count, found = available.available(connection, context.agent.name, context.agent.levels, now)
        used = budgets.used(connection, context.agent.name)
    context.notice(found)
    remaining = None if context.agent.budget is None else context.agent.budget - used
    context.candidates = selection.ranked(found, context.agent.levels, remaining, time.time())
    if found and not context.candidates:
        detail = f"{_counted(count, 'available task')}, but the budget is used up ({used:,}/{context.agent.budget:,})"
        return Outcome("failed", detail, Turn.END)
    return Outcome("done", _counted(count, "available task"), Turn.NEXT if found else Turn.END)


def _give_back(context: Context, connection: Connection) -> None:
    # What a cycle had in hand when the store went away is no attempt of the agent's.
    if lease := context.keep_alive.lease:
        checkout.release(connection, lease.task, lease.token, counts=False)
    context.keep_alive.let_go()
    context.forget_task()


def select(context: Context) -> Outcome:
    """4. The best of what is left of the candidates."""
    if not context.candidates:
        return Outcome("done", "every candidate was taken by others", Turn.FETCH)
    context.task = context.candidates.pop(0).task
    title = f'{context.task.id}: "{context.task.title}"'
    return Outcome("done", f"{title} (priority: {context.task.priority.name.lower()})")


def take(context: Context) -> Outcome:
    """5. Lock it; somebody faster is the 409 that leads back to step 4."""
    now, keep_alive = context.database.now(), context.keep_alive
    token = f"{context.cycle.id}/{secrets.token_hex(4)}"
    with context.database.write() as connection:
        got = checkout.checkout(
            connection,
            context.chosen.id,
            context.agent.name,
            context.agent.levels,
            token,
            now,
            keep_alive.timeout,
        )
    if isinstance(got, Conflict):
        return Outcome("conflict", f"409: {got.why}", Turn.SELECT)
    context.lease = got
    keep_alive.hold(got)
    return Outcome("done", "Lock acquired")


def understand(context: Context) -> Outcome:
    """6. Read the files, the parents, what it builds on, and the inbox."""
    try:
        with context.database.read() as connection:
            context.known = reading.understand(connection, context.chosen, context.agent)
    except ContextError as error:
        _end_task(context, Status.BLOCKED, str(error))
        return Outcome("failed", f"{error}; the task is blocked", Turn.FETCH)
    files, tokens = len(context.known.files), context.known.tokens
    return Outcome("done", f"Loaded {_counted(files, 'context file')} ({tokens:,} tokens)")


def perform(context: Context) -> Outcome:
    """7. Run the agent's command on it."""
    began = time.monotonic()
    execution = execute(_order(context), lambda process: _note(context, process), context.keep_alive.watch)
    context.execution = execution
    context.keep_alive.attend(None)
    facts = f"{_tokens(execution)} in {time.monotonic() - began:.0f}s"
    if execution.succeeded:
        return Outcome("done", facts)
    return Outcome("failed", f"{execution.why} ({facts})")


def _order(context: Context) -> Order:
    agent, task = context.agent, context.chosen
    assert context.known is not None
    texts = {
        "prompt": reading.prompt(agent, task, context.known),
        "system_prompt": agent.system_prompt,
        "task": task.id,
    }
    output = output_file(context.cycle.id, task.id)
    seconds = agent.time_limit_seconds
    environment = _environment(context)
    return Order(
        tuple(agent.argv),
        texts,
        agent.directory,
        environment,
        output,
        seconds,
        context.cycle.id,
        agent.pty,
        read_only=agent.scope == "read-only",
    )


def output_directory() -> Path:
    """Where the output of commands is kept."""
    return state_directory() / "output"


def output_file(cycle: str, task: str) -> Path:
    """Where that of one command is."""
    return output_directory() / f"{task}-{cycle}.log"


def _environment(context: Context) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name not in OWN_VARIABLES}
    return inherited | {
        "STRAWBOSS_AGENT": context.agent.name,
        "STRAWBOSS_TASK": context.chosen.id,
        "STRAWBOSS_SCOPE": context.agent.scope,
        "STRAWBOSS_STATE_DIR": str(state_directory().absolute()),
        "STRAWBOSS_AGENTS": str(context.registry.path.absolute()),
    }


def _note(context: Context, process: ProcessIdentity) -> None:
    context.keep_alive.attend(process)
    with context.database.write() as connection:
        cycles.note_command(connection, context.cycle.id, process)


def update(context: Context) -> Outcome:
    """8. Store the result or the reason, tell the parent, mark the messages read."""
    execution = context.execution
    assert execution is not None
    if execution.ended is Ended.NOT_STARTED and (complaint := _unable(context.agent)):
        return _hand_back(context, complaint)
    status = Status.COMPLETE if execution.succeeded else Status.BLOCKED
    return _end_task(context, status, execution.answer if execution.succeeded else execution.why)


def _hand_back(context: Context, complaint: str) -> Outcome:
    # What the agent has lost since step 1 is no fault of the task's, and the next one would fare no better.
    lock = context.lock
    persistently(
        context, lambda connection: checkout.release(connection, lock.task, lock.token, counts=False)
    )
    context.keep_alive.let_go()
    return Outcome("failed", f"in_progress → open: {complaint}", Turn.END)


def delegate(context: Context) -> Outcome:
    """9. Open the sub-tasks that were identified, and look for more work."""
    with context.database.write() as connection:
        opened = tasks.publish(connection, context.cycle.id, context.chosen.id)
        for task in opened:
            _tell_assignee(context, connection, task)
    named = ", ".join(f"{task.id} ({task.assignee or 'anybody'})" for task in opened)
    return Outcome("done", _counted(len(opened), "sub-task") + (f": {named}" if named else ""), Turn.FETCH)


def _tell_assignee(context: Context, connection: Connection, task: Task) -> None:
    if task.assignee:
        inbox.send(
            connection, task.assignee, context.agent.name, f"for you: {task.title}", time.time(), task.id
        )


def _end_task(context: Context, status: Status, words: str) -> Outcome:
    """Write how the task ended. The lock decides: without it the result belongs to nobody and is not written."""

    def write(connection: Connection) -> Outcome:
        now = context.database.now()
        cycles.note_command(connection, context.cycle.id, None)
        outcome = _written(context, connection, status, words, now)
        if context.known is not None and outcome.status == "done":
            inbox.mark_read(connection, list(context.known.messages), now)
        return outcome

    outcome = persistently(context, write)
    context.keep_alive.let_go()
    return outcome


def persistently(context: Context, write: Callable[[Connection], T]) -> T:
    """A result is worth waiting for a store that is away, as long as the lock may still be ours. Raises StoreError."""
    give_up = time.monotonic() + context.keep_alive.timeout
    while True:
        try:
            with context.database.write() as connection:
                return write(connection)
        except StoreError:
            if time.monotonic() > give_up:
                raise
            time.sleep(RETRY_SECONDS)


def _written(context: Context, connection: Connection, status: Status, words: str, now: float) -> Outcome:
    task, lock, name = context.chosen, context.lock, context.agent.name
    if status is Status.COMPLETE and (waiting := approvals.pending(connection, task.id)):
        if approvals.wait(connection, task.id, lock.token):
            return Outcome(
                "done", f"in_progress → waiting: {waiting[0].question} ({waiting[0].id})", Turn.FETCH
            )
    elif tasks.finish(connection, task.id, lock.token, status, words, by=name, now=now):
        _tell_parent(connection, task, name, f"{task.title}: {status}\n{words}".strip(), now)
        return Outcome("done", f"in_progress → {status}")
    found = tasks.find(connection, task.id)
    if found.finished_by == name and found.status in (Status.COMPLETE, Status.BLOCKED):
        _tell_parent(
            connection, found, name, f"{found.title}: {found.status}\n{found.result or found.reason}", now
        )
        return Outcome("done", f"in_progress → {found.status}, by its own word")
    return Outcome("failed", "the lock was lost; the result is not stored", Turn.FETCH)


def _tell_parent(connection: Connection, task: Task, sender: str, words: str, now: float) -> None:
    """To whoever works on the parent task, else to whoever added this one."""
    recipient = task.created_by
    if task.parent:
        parent = tasks.find(connection, task.parent)
        recipient = parent.finished_by or parent.lock_holder or parent.assignee or parent.created_by
    if recipient != sender:
        inbox.send(connection, recipient, sender, words, now, task.id)


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def _tokens(execution: Execution) -> str:
    return (
        f"{execution.tokens:,} tokens"
        if execution.tokens or execution.ended is not Ended.NOT_STARTED
        else "not started"
    )
