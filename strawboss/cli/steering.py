"""`subagent:steer`, `verify:subagent-steer` for the parent; `subagent:inbox`, `subagent:ack` for the child."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from strawboss.cli.heartbeat_params import (
    DIRECTORY,
    PLAIN_NAME,
    POSITIVE,
    SLUG,
    TEXT,
    WorkerCommand,
    answer,
    below_project,
    json_option,
    say_error,
    say_json,
    target_option,
    worktree,
)
from strawboss.heartbeat import inbox
from strawboss.heartbeat.authority import Claims, read_claims, refusal
from strawboss.heartbeat.inbox import Delivery, Letter
from strawboss.heartbeat.layout import STEER_DIRECTORY
from strawboss.heartbeat.places import check_steer_directory
from strawboss.heartbeat.steer import KINDS, WRITER_KINDS, Steer, compose
from strawboss.heartbeat.utc import utc_now
from strawboss.system.json_files import Broken
from strawboss.system.printable import printable

steer_dir_option = click.option(
    "--steer-dir", type=DIRECTORY, help="Inbox directory, if not that of the worktree."
)
agent_option = click.option("--agent", "--agent-id", "agent", required=True, type=SLUG)


@click.command("subagent:steer", cls=WorkerCommand)
@agent_option
@click.option(
    "--writer-id", required=True, type=TEXT, help="Who writes; checked against the child's lease or record."
)
@click.option("--kind", required=True, type=click.Choice(KINDS))
@click.option("--text", required=True, help="At most 2000 characters.")
@click.option("--writer-kind", type=click.Choice(WRITER_KINDS), default=WRITER_KINDS[0], show_default=True)
@click.option("--steer-id", type=TEXT, help="A random one if absent.")
@click.option(
    "--ttl-seconds", type=POSITIVE, default=1800, show_default=True, help="Unread it expires after this."
)
@target_option
@steer_dir_option
@click.option("--parent-id", type=TEXT, help="Must be the recorded parent.")
@click.option("--occupancy-owner-id", type=TEXT, help="Must be the recorded occupant.")
@json_option
def subagent_steer(
    agent: str,
    writer_id: str,
    kind: str,
    text: str,
    writer_kind: str,
    steer_id: str | None,
    ttl_seconds: float,
    target: str | None,
    steer_dir: Path | None,
    parent_id: str | None,
    occupancy_owner_id: str | None,
    as_json: bool,
) -> int:
    """Leave a word for a running child; it reads it at its next poll. Exit 0: written, 2: not."""
    now, tree = utc_now(), worktree(target)
    directory = steer_dir or tree.steer_directory
    try:
        steer = compose(
            agent,
            writer_id=writer_id,
            kind=kind,
            text=text,
            now=now,
            writer_kind=writer_kind,
            steer_id=steer_id,
            ttl_seconds=ttl_seconds,
        )
        _check_authority(read_claims(tree, agent, now), steer, parent_id, occupancy_owner_id)
        before = inbox.leave(directory, steer, now)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"cannot write the steer: {error}") from None
    if as_json:
        say_json(inbox.Left(**steer.content(), replaced=before.steer_id if before else ""))
    else:
        if before:
            say_error(f"subagent:steer: note: replaced unread steer {printable(before.steer_id)}")
        where = directory / f"{agent}.json"
        click.echo(printable(f"subagent:steer: steer_id={steer.steer_id} kind={kind} for {agent} in {where}"))
    return 0


def _check_authority(claims: Claims, steer: Steer, parent_id: str | None, owner_id: str | None) -> None:
    if reason := refusal(claims, steer.writer_kind, steer.writer_id):
        raise click.UsageError(f"{reason}; the dispatcher records a child with 'occupancy claim --child'")
    lease = None if isinstance(claims.lease, Broken) else claims.lease
    recorded = (lease.parent_id if lease else None) or claims.heartbeat_parent
    if parent_id not in (None, recorded):
        raise click.UsageError(f"--parent-id {parent_id} is not the recorded parent")
    if owner_id not in (None, claims.occupancy.session_id or None):
        raise click.UsageError(f"--occupancy-owner-id {owner_id} is not the recorded occupant")


@click.command("verify:subagent-steer", cls=WorkerCommand)
@click.option(
    "--steer-dir",
    type=DIRECTORY,
    default=lambda: below_project(STEER_DIRECTORY),
    show_default=str(STEER_DIRECTORY),
)
@click.option("--agent", "agents", multiple=True, type=PLAIN_NAME, help="Only this agent; repeatable.")
@json_option
def verify_subagent_steer(steer_dir: Path, agents: tuple[str, ...], as_json: bool) -> int:
    """Whether a steer waits to be read. Exit 0: none. 1: STEER_PENDING. 2: the inbox cannot be read."""
    report = inbox.look(steer_dir, agents, utc_now())
    code = inbox.exit_code(report)
    if as_json:
        say_json(report)
        return code
    for line in _steer_lines(report, code):
        click.echo(printable(line), err=code == 2)
    return code


def _steer_lines(report: inbox.SteerReport, code: int) -> list[str]:
    if code == 2:
        return [f"verify_subagent_steer: config error: {error}" for error in report.sweep_errors]
    lines = inbox.failure_lines(report) if code else ["verify_subagent_steer: no unread steer"]
    return lines + [f"note: {each.agent_id}: {each.reason}: counts as unread" for each in report.ack_troubles]


@dataclass(frozen=True, slots=True)
class Slot:
    """A child's slot: its directory, and what is on record about the child."""

    directory: Path
    claims: Claims


@contextmanager
def _slot(agent: str, target: str | None, steer_dir: Path | None) -> Iterator[Slot]:
    """Raises NoPlaceError when the worktree is not there or not in use; a file that cannot be used is exit 2."""
    tree = worktree(target)
    directory = steer_dir or tree.steer_directory
    check_steer_directory(directory)
    try:
        yield Slot(directory, read_claims(tree, agent, utc_now()))
    except OSError as error:
        raise click.ClickException(f"the inbox cannot be used: {error}") from None


@click.command("subagent:inbox", cls=WorkerCommand)
@agent_option
@target_option
@steer_dir_option
@json_option
def subagent_inbox(agent: str, target: str | None, steer_dir: Path | None, as_json: bool) -> int:
    """What the parent wants of this agent. Apply it once, then run subagent:ack.

    Exit 0: a steer to apply, or nothing to do. 1: the inbox is broken or its writer has no authority.
    """
    with _slot(agent, target, steer_dir) as slot:
        found = inbox.collect(slot.directory, agent, slot.claims, utc_now())
    applies = found.delivery is Delivery.APPLIED and found.steer is not None
    if as_json:
        steer = found.steer.content() if found.steer and applies else None
        say_json(Letter(found.delivery.value, agent, found.reason, steer))
    elif found.steer and applies:
        click.echo(
            printable(f"steer_id={found.steer.steer_id} kind={found.steer.kind} from {found.steer.writer_id}")
        )
        click.echo("\n".join(printable(line) for line in found.steer.text.splitlines()))
    else:
        why = f": {found.reason}" if found.reason else ""
        click.echo(printable(f"subagent:inbox: {found.delivery.value}{why}"))
    return int(found.delivery in (Delivery.INVALID, Delivery.WRITER_REFUSED))


@click.command("subagent:ack", cls=WorkerCommand)
@agent_option
@click.option("--steer-id", required=True, type=TEXT, help="The steer that was applied.")
@target_option
@steer_dir_option
@json_option
def subagent_ack(agent: str, steer_id: str, target: str | None, steer_dir: Path | None, as_json: bool) -> int:
    """Say that a steer was applied. Exit 0: acknowledged, also before. 1: not the one in the inbox, or expired unread."""
    with _slot(agent, target, steer_dir) as slot:
        refused = inbox.acknowledge(slot.directory, agent, steer_id, slot.claims, utc_now())
    if refused:
        return answer(1, f"subagent:ack: {steer_id} is not to be acknowledged: {refused}", as_json)
    return answer(0, f"subagent:ack: {steer_id} acknowledged", as_json)
