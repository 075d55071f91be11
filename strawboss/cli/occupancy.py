"""`occupancy show|claim|release`: the advisory lease of a worktree."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from strawboss.cli.heartbeat_params import SLUG, TEXT, json_option, say_error, say_json, target_option
from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.occupancy import (
    INTENTS,
    LeaseState,
    Occupancy,
    OccupancyReport,
    child_lease,
    claim,
    read_occupancy,
    write_gate,
)
from strawboss.heartbeat.utc import age_text, utc_now
from strawboss.system.json_files import write_json
from strawboss.system.printable import printable

session_option = click.option("--session-id", type=TEXT, envvar="DEFT_SESSION_ID", show_envvar=True)
needed_session = click.option(
    "--session-id", type=TEXT, required=True, envvar="DEFT_SESSION_ID", show_envvar=True
)


@click.group("occupancy")
def occupancy() -> None:
    """Advisory coordination of who works in a worktree; no protection against a determined user."""


@occupancy.command("show")
@target_option
@session_option
@json_option
def show(target: Path | None, session_id: str | None, as_json: bool) -> int:
    """Who is here. With a session id, exit 1 when that session should not write here."""
    lease = read_occupancy(Worktree(target or Path()), utc_now())
    gate = write_gate(lease, session_id) if session_id else None
    report = OccupancyReport(
        lease.session_id or None,
        lease.state.value,
        lease.intent,
        lease.heartbeat_age,
        gate.allowed if gate else None,
        gate.reason if gate else "",
    )
    if as_json:
        say_json(report)
    else:
        click.echo(printable(_described(lease)))
        if gate:
            click.echo(printable(f"{'may write' if gate.allowed else 'should not write'}: {gate.reason}"))
    return int(bool(gate and not gate.allowed))


def _described(lease: Occupancy) -> str:
    if lease.state is LeaseState.NONE:
        return "occupancy: free"
    age = age_text(lease.heartbeat_age)
    return f"occupancy: {lease.state.value}, session {lease.session_id}, intent {lease.intent}, last seen {age} ago"


@occupancy.command("claim")
@target_option
@needed_session
@click.option("--intent", type=click.Choice(INTENTS), default=INTENTS[0], show_default=True)
@click.option(
    "--child", type=SLUG, help="Instead: record this agent as a child, so that its parent may steer it."
)
@click.option("--parent-id", type=TEXT, help="With --child: whom it reports to; the session if absent.")
@click.option("--incarnation", default="", help="With --child: which life of the agent.")
def claim_command(
    target: Path | None,
    session_id: str,
    intent: str,
    child: str | None,
    parent_id: str | None,
    incarnation: str,
) -> int:
    """Say that a session works here, or renew that. Exit 1 when another session does."""
    now, worktree = utc_now(), Worktree(target or Path())
    if not worktree.root.is_dir():
        raise click.BadParameter(f"{worktree.root} is not a directory", param_hint="--target-id")
    try:
        if child:
            lease = child_lease(worktree, child, parent_id or session_id, session_id, incarnation)
            write_json(worktree.child_lease_file(child), lease)
            click.echo(printable(f"occupancy: {child} is recorded as a child of {parent_id or session_id}"))
            return 0
        return _claim(worktree, session_id, intent, now)
    except OSError as error:
        raise click.ClickException(f"cannot write the lease: {error}") from None


def _claim(worktree: Worktree, session_id: str, intent: str, now: datetime) -> int:
    lease = read_occupancy(worktree, now)
    if lease.state is LeaseState.LIVE and lease.session_id != session_id:
        say_error(printable(f"occupancy: {write_gate(lease, '').reason}"))
        return 1
    write_json(worktree.occupancy_file, claim(worktree, session_id, intent, lease, now))
    click.echo(printable(f"occupancy: {session_id} works in {worktree.root} ({intent})"))
    return 0


@occupancy.command("release")
@target_option
@needed_session
def release(target: Path | None, session_id: str) -> int:
    """Free the worktree. Exit 1 when the lease is another session's."""
    worktree = Worktree(target or Path())
    lease = read_occupancy(worktree, utc_now())
    if lease.session_id not in ("", session_id):
        say_error(
            printable(f"occupancy: the lease is {lease.session_id}'s, not {session_id}'s; left as it is")
        )
        return 1
    try:
        worktree.occupancy_file.unlink(missing_ok=True)
    except OSError as error:
        raise click.ClickException(f"cannot remove the lease: {error}") from None
    click.echo("occupancy: free")
    return 0
