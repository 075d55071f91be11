"""Commands on agents, for people and for agents at work: agent, budget, inbox, approve."""

from __future__ import annotations

import json
import secrets
import shlex
import time
from dataclasses import asdict
from pathlib import Path

import click
import msgspec
from sqlalchemy import Connection

from strawboss.cli.help import Group
from strawboss.cli.stores import PERSON, agent_named, caller, current_task, opened, registry, require, say
from strawboss.cli.tables import show_table
from strawboss.wakeup import agents
from strawboss.wakeup.agents import Agent, RegistryError
from strawboss.wakeup.report import budget as tokens_shown
from strawboss.wakeup.store import approvals, budgets, events
from strawboss.wakeup.store import inbox as mail
from strawboss.wakeup.store.approvals import Decision

AGENT_COLUMNS = ("Agent", "Id", "Title", "Capabilities", "Scope", "Command")
BUDGET_COLUMNS = ("Agent", "Budget Used", "Left")
INBOX_COLUMNS = ("From", "Task", "Message")
APPROVAL_COLUMNS = ("Request", "Task", "Question", "Asked by")
NOTHING = "—"


@click.group(cls=Group)
def agent() -> None:
    """The agent registry."""


@agent.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def list_(as_json: bool) -> None:
    """List the agents."""
    found = registry()
    if as_json:
        click.echo(json.dumps({"agents": [_json(one) for one in found.agents]}, ensure_ascii=False))
    else:
        show_table(AGENT_COLUMNS, map(_row, found.agents))


def _json(one: Agent) -> dict[str, object]:
    content: dict[str, object] = msgspec.to_builtins(one)
    return content | {"id": one.slug}


def _row(one: Agent) -> tuple[str, ...]:
    capabilities = ", ".join(f"{name} {level}" for name, level in one.levels.items()) or NOTHING
    return (
        one.name,
        one.slug,
        one.title or one.role or NOTHING,
        capabilities,
        one.scope,
        shlex.join(one.argv) or NOTHING,
    )


@agent.command()
@click.argument("name")
@click.option("--title", default="", help="What it is, for people.")
@click.option("--role", default="")
@click.option(
    "--capability", "capabilities", multiple=True, metavar="NAME[=1..5]", help="What it can do, and how well."
)
@click.option(
    "--scope", type=click.Choice(["read-only", "read-write"]), default="read-write", show_default=True
)
@click.option("--workspace", default="", help="The directory it works in.  [default: one of its own]")
@click.option("--system-prompt", default="")
@click.option("--command", required=True, help='Such as: pi --mode json --system-prompt "{system_prompt}"')
@click.option("--pty", is_flag=True, help="Run the command in a terminal of its own.")
@click.option(
    "--quiet-ok", is_flag=True, help="Its command says nothing for long by nature: that is no stall."
)
@click.option("--time-limit", default="1h", show_default=True)
@click.option("--budget", type=click.IntRange(0), help="Tokens it may use.  [default: no limit]")
def add(name: str, capabilities: tuple[str, ...], workspace: str, **fields: object) -> None:
    """Add an agent at the end of the registry file."""
    place = str(Path(workspace).absolute()) if workspace else ""
    levels = dict(map(_level, capabilities))
    wish = fields | {
        "name": name,
        "id": f"agent-{secrets.token_hex(2)}",
        "workspace": place,
        "capabilities": levels,
    }
    try:
        new = msgspec.convert(wish, Agent)
        agents.append(agents.registry_path(), new)
    except (msgspec.ValidationError, RegistryError) as error:
        raise click.ClickException(str(error)) from None
    say(f"{new.name} ({new.slug})")


def _level(text: str) -> tuple[str, object]:
    name, _, level = text.partition("=")
    if not name or (level and level not in "12345"):
        raise click.BadParameter(
            f"{text!r}: write a name, or a name and a level such as research=4", param_hint="--capability"
        )
    return name, int(level or agents.USUAL_LEVEL)


@click.command()
@click.argument("name", required=False)
@click.option("--reset", is_flag=True, help="Start the count of NAME anew.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def budget(name: str | None, reset: bool, as_json: bool) -> None:
    """Show the tokens used by every agent, or by one."""
    if reset and name is None:
        raise click.UsageError("whose? write strawboss budget NAME --reset")
    chosen = [agent_named(name)] if name else list(registry().agents)
    with opened() as database, database.write() as connection:
        if reset:
            _reset(connection, chosen[0].name)
        used = budgets.all_used(connection)
    facts = [(one.name, used.get(one.name, 0), one.budget) for one in chosen]
    if as_json:
        rows = [{"agent": name, "used": used, "budget": limit} for name, used, limit in facts]
        click.echo(json.dumps({"budgets": rows}))
    else:
        show_table(
            BUDGET_COLUMNS,
            [(name, tokens_shown(used, limit), _left(used, limit)) for name, used, limit in facts],
        )


def _reset(connection: Connection, name: str) -> None:
    if caller() != PERSON:
        raise click.ClickException("only a person resets a budget")
    before = budgets.reset(connection, name)
    events.record(connection, name, "budget reset", f"{before:,} tokens had been used", time.time())


def _left(used: int, limit: int | None) -> str:
    return "unlimited" if limit is None else f"{max(0, limit - used):,}"


@click.command()
@click.argument("name", required=False)
@click.option("--all", "everything", is_flag=True, help="Also what was read before.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def inbox(name: str | None, everything: bool, as_json: bool) -> None:
    """Show the messages of an agent, or your own; your own are read then."""
    owner = name or caller()
    if owner != PERSON:
        owner = agent_named(owner).name
    with opened() as database, database.write() as connection:
        found = mail.inbox(connection, owner, unread_only=not everything)
        if owner == caller():
            mail.mark_read(connection, found, time.time())
    if as_json:
        click.echo(json.dumps({"messages": [asdict(message) for message in found]}, ensure_ascii=False))
    else:
        show_table(INBOX_COLUMNS, [(one.sender, one.task or NOTHING, one.body) for one in found])


@click.command()
@click.argument("request", required=False)
@click.option("--deny", is_flag=True, help="Say no.")
@click.option("--note", default="", help="Why, for whoever asked.")
@click.option("--ask", metavar="QUESTION", help="Ask for a yes instead: the task waits for it.")
@click.option(
    "--task", "task_id", metavar="TASK", help="What the question is about.  [default: the one you work on]"
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def approve(
    request: str | None, deny: bool, note: str, ask: str | None, task_id: str | None, as_json: bool
) -> None:
    """Approve or deny a request; or ask for one, or list those that wait."""
    if ask is not None:
        if request or deny or note:
            raise click.UsageError("--ask goes with --task only")
        say(_ask(ask, task_id or current_task()))
    elif request is not None:
        _decide(request, Decision.DENIED if deny else Decision.APPROVED, note)
    else:
        _pending(as_json)


def _ask(question: str, task_id: str | None) -> str:
    if task_id is None:
        raise click.UsageError("about which task? give --task TASK")
    with opened() as database, database.write() as connection:
        return approvals.ask(connection, task_id, question, caller(), time.time())


def _decide(request: str, decision: Decision, note: str) -> None:
    require("approve")
    with opened() as database, database.write() as connection:
        approval = approvals.decide(connection, request, decision, caller(), note, time.time())
        events.record(
            connection, caller(), f"approval {decision}", approval.question, time.time(), task=approval.task
        )
    say(f"{request} is {decision}; {approval.task} follows at the next wake-up")


def _pending(as_json: bool) -> None:
    with opened() as database, database.read() as connection:
        found = approvals.pending(connection)
    if as_json:
        click.echo(json.dumps({"approvals": [asdict(one) for one in found]}, ensure_ascii=False))
    else:
        show_table(APPROVAL_COLUMNS, [(one.id, one.task, one.question, one.asked_by) for one in found])
