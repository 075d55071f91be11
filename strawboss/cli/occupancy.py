"""`occupancy show|claim|release`: the advisory lease of a worktree."""

from __future__ import annotations

import click

from strawboss.cli.heartbeat_params import (
    SLUG,
    TEXT,
    WorkerCommand,
    answer,
    json_option,
    say_json,
    target_option,
    worktree,
)
from strawboss.cli.help import Group
from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.occupancy import (
    INTENTS,
    LeaseState,
    Occupancy,
    OccupancyReport,
    give_back,
    read_occupancy,
    record_child,
    take,
    write_gate,
)
from strawboss.heartbeat.utc import age_text, utc_now
from strawboss.system.json_files import Broken
from strawboss.system.printable import printable

session_option = click.option("--session-id", type=TEXT, envvar="DEFT_SESSION_ID", show_envvar=True)
needed_session = click.option(
    "--session-id", type=TEXT, required=True, envvar="DEFT_SESSION_ID", show_envvar=True
)


@click.group("occupancy", cls=Group)
def occupancy() -> None:
    """Advisory coordination of who works in a worktree; no protection against a determined user."""


@occupancy.command("show", cls=WorkerCommand)
@target_option
@session_option
@json_option
def show(target: str | None, session_id: str | None, as_json: bool) -> int:
    """Who is here. Exit 1 when that session, or without one a stranger, should not write here."""
    lease = read_occupancy(worktree(target), utc_now())
    gate = write_gate(lease, session_id or "")
    if as_json:
        seen = (lease.session_id or None, lease.state.value, lease.intent, lease.heartbeat_age)
        say_json(OccupancyReport(*seen, gate.allowed, gate.reason))
    else:
        click.echo(printable(_described(lease)))
        click.echo(printable(f"{'may write' if gate.allowed else 'should not write'}: {gate.reason}"))
    return int(not gate.allowed)


def _described(lease: Occupancy) -> str:
    if lease.state is LeaseState.NONE:
        return "occupancy: free"
    age = age_text(lease.heartbeat_age)
    return f"occupancy: {lease.state.value}, session {lease.session_id}, intent {lease.intent}, last seen {age} ago"


@occupancy.command("claim", cls=WorkerCommand)
@target_option
@needed_session
@click.option("--intent", type=click.Choice(INTENTS), default=INTENTS[0], show_default=True)
@click.option(
    "--child", type=SLUG, help="Instead: record this agent as a child, so that its parent may steer it."
)
@click.option("--parent-id", type=TEXT, help="With --child: whom it reports to; the session if absent.")
@click.option("--incarnation", default="", help="With --child: which life of the agent.")
@json_option
def claim_command(
    target: str | None,
    session_id: str,
    intent: str,
    child: str | None,
    parent_id: str | None,
    incarnation: str,
    as_json: bool,
) -> int:
    """Say that a session works here, or renew that. Exit 1 when another session does."""
    tree = worktree(target)
    try:
        if child:
            return _record_child(tree, child, parent_id or session_id, session_id, incarnation, as_json)
        taken = take(tree, session_id, intent, utc_now())
    except OSError as error:
        raise click.ClickException(f"cannot write the lease: {error}") from None
    if not taken.allowed:
        return answer(1, f"occupancy: {taken.reason}", as_json)
    return answer(0, f"occupancy: {session_id} works in {tree.root} ({intent})", as_json, taken.reason)


def _record_child(
    tree: Worktree, child: str, parent_id: str, owner: str, incarnation: str, as_json: bool
) -> int:
    before = record_child(tree, child, parent_id, owner, incarnation)
    replaced = f"a lease that {before.reason}" if isinstance(before, Broken) else ""
    if before and not isinstance(before, Broken) and before.parent_id != parent_id:
        replaced = f"its parent {before.parent_id}"
    return answer(0, f"occupancy: {child} is recorded as a child of {parent_id}", as_json, replaced)


@occupancy.command("release", cls=WorkerCommand)
@target_option
@needed_session
@json_option
def release(target: str | None, session_id: str, as_json: bool) -> int:
    """Free the worktree. Exit 1 when the lease is another session's."""
    try:
        given_back = give_back(worktree(target), session_id, utc_now())
    except OSError as error:
        raise click.ClickException(f"cannot remove the lease: {error}") from None
    if not given_back.allowed:
        return answer(1, f"occupancy: {given_back.reason}", as_json)
    return answer(0, "occupancy: free", as_json)
