"""`swarm:pre-dispatch` and `subagent:pre-cancel`: begin an attempt, and ask before one is cancelled."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import click

from strawboss.cli.heartbeat_params import (
    DIRECTORY,
    POSITIVE,
    TEXT,
    UTC_TIME,
    json_option,
    say_json,
)
from strawboss.heartbeat import precancel
from strawboss.heartbeat.attempts import dispatch
from strawboss.heartbeat.attempts.dispatch import DEFAULT_WORKFLOW, Place
from strawboss.heartbeat.attempts.ledger import Attempt
from strawboss.heartbeat.attempts.lookup import dispatch_time
from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.utc import utc_now
from strawboss.system.json_files import Broken
from strawboss.system.printable import printable

GIT_TIMEOUT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Directories:
    """Where pre-cancel looks; each may be given, the rest is below the worktree."""

    steer: Path | None
    scratch: Path | None
    first_seen: Path | None

    def below(self, worktree: Worktree) -> tuple[Path, Path, Path]:
        return (
            self.steer or worktree.steer_directory,
            self.scratch or worktree.status_directory,
            self.first_seen or worktree.first_seen_directory,
        )


@click.command("subagent:pre-cancel")
@click.option("--agent", "--agent-id", "agent", required=True)
@click.option("--canceller-id", "--canceller", "canceller", required=True, help="Who wants to cancel.")
@click.option("--target-id", "--target", "target", type=DIRECTORY, help="Worktree of the agent.")
@click.option("--steer-dir", type=DIRECTORY, help="With --scratch-dir, instead of --target-id.")
@click.option("--scratch-dir", type=DIRECTORY, help="With --steer-dir, instead of --target-id.")
@click.option("--first-seen-dir", type=DIRECTORY)
@click.option("--dispatch-started-at", type=TEXT, help="UTC; otherwise from the ledger of attempts.")
@click.option("--project-root", type=DIRECTORY, default=".", help="Where the ledger of attempts is.")
@click.option("--expected-worker-id", type=TEXT)
@click.option(
    "--observed-window-seconds", type=POSITIVE, default=precancel.OBSERVED_WINDOW_SECONDS, show_default=True
)
@click.option("--force", is_flag=True, help="Cancel without asking; needs --reason.")
@click.option("--reason", default="")
@json_option
def subagent_pre_cancel(
    agent: str,
    canceller: str,
    target: Path | None,
    steer_dir: Path | None,
    scratch_dir: Path | None,
    first_seen_dir: Path | None,
    dispatch_started_at: str | None,
    project_root: Path,
    expected_worker_id: str | None,
    observed_window_seconds: float,
    force: bool,
    reason: str,
    as_json: bool,
) -> int:
    """Query before cancel. Exit 0: you may cancel. 1: not yet. 2: wrong use."""
    if target is None and (steer_dir is None or scratch_dir is None):
        raise click.UsageError("not dest-capable: give --target-id, or --steer-dir and --scratch-dir paired")
    directories = Directories(steer_dir, scratch_dir, first_seen_dir).below(Worktree(target or Path()))
    request = precancel.Request(
        agent,
        canceller,
        *directories,
        dispatched=_started(dispatch_started_at)
        if dispatch_started_at
        else dispatch_time(project_root, agent),
        expected_worker=expected_worker_id,
        window=observed_window_seconds,
        force=force,
        reason=reason,
    )
    outcome = precancel.check(request, utc_now())
    if as_json:
        say_json(outcome)
    else:
        click.echo(printable(outcome.message), err=not outcome.ok)
    return outcome.exit_code


def _started(text: str) -> datetime | Broken:
    # A time that cannot be read must keep the gate red; it must not stop the other branches.
    try:
        return UTC_TIME.convert(text, None, None)
    except click.BadParameter:
        return Broken("--dispatch-started-at is not a UTC time")


@click.command("swarm:pre-dispatch")
@click.option("--scope-id", "--scope", "scope", required=True, type=TEXT, help="What is to be delivered.")
@click.option("--target-id", "--target", "target", required=True, type=TEXT, help="Worktree of the worker.")
@click.option(
    "--workflow-id", "--workflow", "workflow", type=TEXT, default=DEFAULT_WORKFLOW, show_default=True
)
@click.option(
    "--action", type=click.Choice(("begin", "complete", "cancel")), default="begin", show_default=True
)
@click.option("--source-revision", "--revision", "revision", type=TEXT, help="git HEAD if absent.")
@click.option("--attempt-id", type=TEXT)
@click.option(
    "--status", type=click.Choice(("succeeded", "failed", "cancelled", "blocked")), default="succeeded"
)
@click.option("--worker-id", type=TEXT, help="Agent id of the worker.")
@click.option("--external-run-id", type=TEXT)
@click.option("--agent", "--agent-id", "agent", help="Whom to cancel; the attempt's worker if absent.")
@click.option("--canceller-id", "--canceller", "canceller", envvar="DEFT_SESSION_ID", show_envvar=True)
@click.option("--steer-dir", type=DIRECTORY)
@click.option("--scratch-dir", type=DIRECTORY)
@click.option("--first-seen-dir", type=DIRECTORY)
@click.option("--pre-cancel-force", is_flag=True, help="Cancel without asking; needs --pre-cancel-reason.")
@click.option("--pre-cancel-reason", "--reason", "reason", default="")
@click.option("--project-root", type=DIRECTORY, default=".")
@json_option
def swarm_pre_dispatch(
    scope: str,
    target: str,
    workflow: str,
    action: str,
    revision: str | None,
    attempt_id: str | None,
    status: str,
    worker_id: str | None,
    external_run_id: str | None,
    agent: str | None,
    canceller: str | None,
    steer_dir: Path | None,
    scratch_dir: Path | None,
    first_seen_dir: Path | None,
    pre_cancel_force: bool,
    reason: str,
    project_root: Path,
    as_json: bool,
) -> int:
    """The ledger of delivery attempts: one active attempt for a scope and worktree.

    Exit 0: done. 1: refused, such as DENY_DUPLICATE_ACTIVE. 2: wrong use, or the ledger cannot be used.
    """
    place, now = Place(project_root, scope, target, workflow), utc_now()
    if action == "begin":
        outcome = dispatch.begin(place, revision or _git_head(place), worker_id, external_run_id, now)
    elif action == "complete":
        outcome = dispatch.complete(place, status, attempt_id, now)
    else:
        directories = Directories(steer_dir, scratch_dir, first_seen_dir).below(place.worktree)

        def ask(attempt: Attempt) -> precancel.Outcome:
            request = precancel.Request(
                agent or worker_id or attempt.worker_id or "",
                canceller or "",
                *directories,
                dispatched=attempt.started or Broken(f"attempt {attempt.id} has no UTC start"),
                expected_worker=attempt.worker_id,
                force=pre_cancel_force,
                reason=reason,
            )
            return precancel.check_cancel(request, now)

        outcome = dispatch.cancel(place, attempt_id, ask, now)
    if as_json:
        say_json(outcome)
    else:
        _show(outcome)
    return outcome.exit_code


def _show(outcome: dispatch.Outcome) -> None:
    lines = [
        f"[swarm:pre-dispatch] action={outcome.action} exit={outcome.exit_code}",
        f"unit: scope={outcome.scope_id} target={outcome.target_id} workflow={outcome.workflow_id}",
        f"decision: {outcome.decision}",
        f"reason: {outcome.reason}",
        f"active: {', '.join(outcome.active_attempt_ids) or 'none'}",
        *_hints(outcome),
    ]
    click.echo("\n".join(printable(line) for line in lines))


def _hints(outcome: dispatch.Outcome) -> list[str]:
    if outcome.decision == "DENY_DUPLICATE_ACTIVE":
        return [
            "hint: is its worker dead? verify:subagent-alive; then subagent:pre-cancel and --action cancel"
        ]
    if outcome.decision == "REFUSED":
        return ["hint: steer a note, wait for its ack or 3 minutes, or force with --pre-cancel-reason"]
    if outcome.decision == "LEDGER_UNUSABLE":
        return ["hint: nothing was changed; mend or move aside the file named above"]
    return []


def _git_head(place: Place) -> str:
    try:
        answer = subprocess.run(
            ["git", "-C", str(place.worktree.root), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            timeout=GIT_TIMEOUT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return answer.stdout.strip() or "unknown"
