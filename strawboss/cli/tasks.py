"""Commands on tasks, for people and for agents at work: task, checkout, release, delegate."""

from __future__ import annotations

import json
import os
import secrets
import time
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import click

from strawboss.cli.help import Group
from strawboss.cli.params import DURATION
from strawboss.cli.stores import PERSON, agent_named, caller, current_task, opened, require, say
from strawboss.cli.tables import show_table
from strawboss.wakeup.store import approvals, events, inbox, tasks
from strawboss.wakeup.store import checkout as locks
from strawboss.wakeup.store.checkout import Conflict
from strawboss.wakeup.store.errors import RefusedError
from strawboss.wakeup.store.tasks import NewTask, Priority, Status, Task

COLUMNS = ("Task", "Status", "Priority", "Title", "For", "Waits for")
NOTHING = "—"


class Deadline(click.ParamType[float]):
    """`2h`, or a time with its zone such as `2026-12-24T18:00Z`. Converts to epoch seconds."""

    name = "deadline"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        with suppress(click.BadParameter):
            return time.time() + DURATION.convert(value, param, ctx)
        try:
            at = datetime.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{value!r} is no deadline; write for example 2h or 2026-12-24T18:00Z", param, ctx)
        if at.tzinfo is None:
            self.fail(f"{value!r} has no time zone; write for example {value}Z", param, ctx)
        return at.timestamp()


def _priority(_: click.Context, __: click.Parameter, value: str) -> Priority:
    return Priority[value.upper()]


PRIORITIES = click.Choice([priority.name.lower() for priority in Priority])
describing = (
    click.option("--body", default="", help="What is to be done, at length."),
    click.option("--priority", type=PRIORITIES, default="normal", show_default=True, callback=_priority),
    click.option("--deadline", type=Deadline(), help="2h from now, or a time such as 2026-12-24T18:00Z."),
    click.option("--complexity", type=click.IntRange(1, 5), default=3, show_default=True),
    click.option(
        "--file", "files", multiple=True, metavar="PATH", help="To read first; relative to the workspace."
    ),
    click.option("--after", "needs", multiple=True, metavar="TASK", help="Only once that task is complete."),
    click.option("--needs-capability", "capabilities", multiple=True, metavar="NAME"),
    click.option("--to", "assignee", metavar="AGENT", help="Only this agent may take it."),
)


def described(command: click.decorators.FC) -> click.decorators.FC:
    """The options that `task add` and `delegate` share."""
    for option in reversed(describing):
        command = option(command)
    return command


@click.group(cls=Group)
def task() -> None:
    """Add, find and end tasks."""


@task.command()
@click.argument("title")
@described
@click.option("--parent", metavar="TASK", help="The task this one is part of.")
@click.option("--needs-approval", metavar="QUESTION", help="Wait until somebody says yes to this.")
def add(title: str, parent: str | None, needs_approval: str | None, **wishes: Any) -> None:
    """Add a task and print its id."""
    now = time.time()
    with opened() as database, database.write() as connection:
        added = tasks.add(connection, _new(title, parent, wishes), now)
        if needs_approval:
            approvals.ask(connection, added, needs_approval, caller(), now)
    say(added)


@task.command("list")
@click.option("--all", "everything", is_flag=True, help="Also the tasks that are complete.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def list_(everything: bool, as_json: bool) -> None:
    """List the tasks, the most urgent first."""
    chosen = [status for status in Status if everything or status is not Status.COMPLETE]
    with opened() as database, database.read() as connection:
        found = tasks.listed(connection, chosen)
    if as_json:
        click.echo(json.dumps({"tasks": [_json(one) for one in found]}, ensure_ascii=False))
    else:
        show_table(COLUMNS, map(_row, found))


def _row(one: Task) -> tuple[str, ...]:
    owner = one.lock_holder or one.finished_by or one.assignee or NOTHING
    return (
        one.id,
        one.status.value,
        one.priority.name.lower(),
        one.title,
        owner,
        ", ".join(one.needs) or NOTHING,
    )


def _json(one: Task) -> dict[str, object]:
    shown = asdict(one) | {"capabilities": sorted(one.capabilities), "priority": one.priority.name.lower()}
    return {key: value for key, value in shown.items() if key != "lock_token"}


@task.command()
@click.argument("task_id", metavar="TASK")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def show(task_id: str, as_json: bool) -> None:
    """Show one task with everything that is known of it."""
    with opened() as database, database.read() as connection:
        found = tasks.find(connection, task_id)
    if as_json:
        click.echo(json.dumps(_json(found), ensure_ascii=False))
    else:
        show_table(
            ("Field", "Value"), [(key, _worded(key, value)) for key, value in _json(found).items() if value]
        )


def _worded(key: str, value: object) -> str:
    if key.endswith("_at") or key == "deadline":
        return datetime.fromtimestamp(float(str(value)), UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


@task.command()
@click.argument("task_id", metavar="TASK")
@click.option("--result", default="", help="What came out.")
def done(task_id: str, result: str) -> None:
    """Mark a task complete: the one you work on, or, for a person, any."""
    _end(task_id, Status.COMPLETE, result)


@task.command()
@click.argument("task_id", metavar="TASK")
@click.option("--reason", required=True, help="Why it cannot go on.")
def block(task_id: str, reason: str) -> None:
    """Mark a task blocked: the one you work on, or, for a person, any."""
    _end(task_id, Status.BLOCKED, reason)


@task.command("open")
@click.argument("task_id", metavar="TASK")
def open_(task_id: str) -> None:
    """Make a blocked task available again."""
    with opened() as database, database.write() as connection:
        tasks.find(connection, task_id)
        if not tasks.reopen(connection, task_id):
            raise RefusedError(f"{task_id} is not blocked")
        events.record(connection, caller(), "task opened", "", time.time(), task=task_id)
    say(f"{task_id} is available again")


def _end(task_id: str, status: Status, words: str) -> None:
    with opened() as database:
        now = database.now()
        with database.write() as connection:
            _must_be_ours(tasks.find(connection, task_id))
            if not tasks.end(connection, task_id, status, words, by=caller(), now=now):
                raise RefusedError(f"{task_id} has ended before")
            events.record(connection, caller(), f"task {status}", words, now, task=task_id)
    say(f"{task_id} is {status}")


def _must_be_ours(found: Task) -> None:
    if caller() not in (PERSON, found.lock_holder):
        raise RefusedError(
            f"{found.id} is not checked out by {caller()}; only its holder or a person can do that"
        )


@click.command()
@click.argument("task_id", metavar="TASK")
@click.option("--agent", "name", metavar="NAME", help="Who takes it.  [default: self, or the person]")
@click.option("--timeout", type=DURATION, default="180s", show_default=True, help="How long the lock holds.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def checkout(task_id: str, name: str | None, timeout: float, as_json: bool) -> int:
    """Lock a task. Exit code 1: it is not to be had (409), and why."""
    holder = agent_named(name).name if name or caller() != PERSON else PERSON
    with opened() as database:
        now = database.now()
        with database.write() as connection:
            able = (
                tasks.find(connection, task_id).capabilities
                if holder == PERSON
                else agent_named(holder).levels
            )
            token = f"{holder}/{secrets.token_hex(4)}"
            got = locks.checkout(connection, task_id, holder, able, token, now, timeout)
            if not isinstance(got, Conflict):
                events.record(connection, holder, "checkout", f"for {timeout:.0f}s", now, task=task_id)
    if as_json:
        click.echo(json.dumps({"locked": not isinstance(got, Conflict), **asdict(got)}, ensure_ascii=False))
    else:
        say(
            f"409: {got.why}" if isinstance(got, Conflict) else f"Lock acquired: {task_id} for {timeout:.0f}s"
        )
    return 1 if isinstance(got, Conflict) else 0


@click.command()
@click.argument("task_id", metavar="TASK")
def release(task_id: str) -> None:
    """Give a checked-out task back unfinished: your own, or, for a person, any."""
    with opened() as database, database.write() as connection:
        found = tasks.find(connection, task_id)
        _must_be_ours(found)
        counts = caller() != PERSON  # what a person stops is no attempt of the agent's
        if found.lock_token is None or not locks.release(
            connection, task_id, found.lock_token, counts=counts
        ):
            raise RefusedError(f"{task_id} is not checked out")
        events.record(
            connection, caller(), "release", f"held by {found.lock_holder}", time.time(), task=task_id
        )
    say(f"{task_id} is available again")


@click.command()
@click.argument("title")
@described
@click.option(
    "--task", "parent", metavar="TASK", help="The task it is a part of.  [default: the one you work on]"
)
def delegate(title: str, parent: str | None, **wishes: Any) -> None:
    """Hand a part of a task to somebody else; prints the sub-task's id.

    An agent at work plans it: it becomes available once the cycle has stored the result of the task it is part of.
    """
    require("delegate")
    parent = parent or current_task()
    if parent is None:
        raise click.UsageError("which task is it a part of? give --task TASK")
    cycle = os.environ.get("STRAWBOSS_CYCLE") if parent == current_task() else None
    status = Status.PLANNED if cycle else Status.OPEN
    new, now = _new(title, parent, wishes), time.time()
    with opened() as database, database.write() as connection:
        added = tasks.add(connection, new, now, status, cycle)
        if new.assignee and not cycle:
            inbox.send(connection, new.assignee, caller(), f"for you: {title}", now, added)
    say(added)


def _new(title: str, parent: str | None, wishes: dict[str, Any]) -> NewTask:
    known = dict(wishes, capabilities=frozenset(wishes["capabilities"]))
    if known["assignee"] is not None:
        known["assignee"] = agent_named(known["assignee"]).name
    return NewTask(title, caller(), parent=parent, **known)
