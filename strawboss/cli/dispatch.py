"""`swarm:launch`, `swarm:pre-dispatch` and `subagent:pre-cancel`: begin an attempt, and ask before one is cancelled."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import msgspec

from strawboss.cli.heartbeat_params import (
    DIRECTORY,
    POSITIVE,
    TEXT,
    UTC_TIME,
    Decorated,
    WorkerCommand,
    json_option,
    project,
    project_option,
    say_error,
    say_json,
    target_path,
    worktree,
)
from strawboss.heartbeat import alive, precancel
from strawboss.heartbeat.attempts import dispatch, lookup
from strawboss.heartbeat.attempts.dispatch import CANCELLED, DEFAULT_WORKFLOW, Place
from strawboss.heartbeat.attempts.ledger import Attempt
from strawboss.heartbeat.classify import Known
from strawboss.heartbeat.gh import ask_in
from strawboss.heartbeat.launch import Wanted, launch, read_map
from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.places import ledger_root
from strawboss.heartbeat.sweep import sweep
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

    def below(self, tree: Worktree) -> tuple[Path, Path, Path]:
        return (
            self.steer or tree.steer_directory,
            self.scratch or tree.status_directory,
            self.first_seen or tree.first_seen_directory,
        )


def cancel_options(command: Decorated) -> Decorated:
    """Who cancels and, without asking, why: the same on every road to `cancelled`."""
    for option in (
        click.option("--reason", "--pre-cancel-reason", "reason", default="", help="With --force: why."),
        click.option(
            "--force",
            "--pre-cancel-force",
            "force",
            is_flag=True,
            help="Cancel without asking; needs --reason.",
        ),
        click.option(
            "--canceller-id",
            "--canceller",
            "canceller",
            envvar="DEFT_SESSION_ID",
            show_envvar=True,
            help="Who wants to cancel.",
        ),
    ):
        command = option(command)
    return command


@click.command("subagent:pre-cancel", cls=WorkerCommand)
@click.option("--agent", "--agent-id", "agent", required=True)
@click.option("--target-id", "--target", "target", type=TEXT, help="Worktree of the agent.")
@click.option("--steer-dir", type=DIRECTORY, help="With --scratch-dir, instead of --target-id.")
@click.option("--scratch-dir", type=DIRECTORY, help="With --steer-dir, instead of --target-id.")
@click.option("--first-seen-dir", type=DIRECTORY)
@click.option("--dispatch-started-at", type=TEXT, help="UTC; otherwise from the ledger of attempts.")
@project_option
@click.option("--expected-worker-id", type=TEXT)
@click.option(
    "--observed-window-seconds",
    type=POSITIVE,
    default=precancel.OBSERVED_WINDOW_SECONDS,
    show_default=True,
    help="How long a status request must have waited unread; not less than the default.",
)
@cancel_options
@json_option
def subagent_pre_cancel(
    agent: str,
    canceller: str | None,
    target: str | None,
    steer_dir: Path | None,
    scratch_dir: Path | None,
    first_seen_dir: Path | None,
    dispatch_started_at: str | None,
    project_root: Path | None,
    expected_worker_id: str | None,
    observed_window_seconds: float,
    force: bool,
    reason: str,
    as_json: bool,
) -> int:
    """Query before cancel. Exit 0: you may cancel. 1: not yet. 2: wrong use, or a place that is not there."""
    if canceller is None:
        raise click.UsageError("Missing option '--canceller-id': say who wants to cancel")
    if target is None and (steer_dir is None or scratch_dir is None):
        raise click.UsageError("not dest-capable: give --target-id, or --steer-dir and --scratch-dir paired")
    directories = Directories(steer_dir, scratch_dir, first_seen_dir).below(worktree(target))
    known = lookup.dispatch(project_root, agent, [directories[1]])
    request = precancel.Request(
        agent,
        canceller,
        *directories,
        dispatched=_started(dispatch_started_at) if dispatch_started_at else known.started,
        expected_worker=expected_worker_id,
        window=observed_window_seconds,
        force=force,
        reason=reason,
        known=known,
    )
    outcome = _with_activity(precancel.check(request, utc_now()), directories[1])
    if as_json:
        say_json(outcome)
    else:
        click.echo(printable(outcome.message), err=not outcome.ok)
    return outcome.exit_code


def _with_activity(outcome: precancel.Outcome, scratch_directory: Path) -> precancel.Outcome:
    """Of a worker that beats also what came of it lately: shown, but only its beats and its answers count here."""
    if outcome.refuse_reason != "heartbeat-fresh":
        return outcome
    verdict = alive.decide(sweep([str(scratch_directory)], utc_now()), (outcome.agent_id,))
    activity = alive.recent_activity(verdict, ask_in)
    texts = [alive.activity_text(judged, activity[judged.agent_id]) for judged in verdict.workers]
    return msgspec.structs.replace(outcome, message="; ".join([outcome.message, *filter(None, texts)]))


def _started(text: str) -> datetime | Broken:
    # A time that cannot be read must keep the gate red; it must not stop the other branches.
    try:
        return UTC_TIME.convert(text, None, None)
    except click.BadParameter:
        return Broken("--dispatch-started-at is not a UTC time")


@click.command("swarm:pre-dispatch", cls=WorkerCommand)
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
    "--status", type=click.Choice(("succeeded", "failed", CANCELLED, "blocked")), default="succeeded"
)
@click.option("--worker-id", type=TEXT, help="Agent id of the worker.")
@click.option("--external-run-id", type=TEXT)
@click.option("--agent", "--agent-id", "agent", help="Whom to cancel; the attempt's worker if absent.")
@click.option("--steer-dir", type=DIRECTORY)
@click.option("--scratch-dir", type=DIRECTORY)
@click.option("--first-seen-dir", type=DIRECTORY)
@cancel_options
@project_option
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
    project_root: Path | None,
    as_json: bool,
    **asking: Any,
) -> int:
    """The ledger of delivery attempts: one active attempt for a scope and worktree.

    Exit 0: done. 1: refused, such as DENY_DUPLICATE_ACTIVE. 2: wrong use, or the ledger cannot be used.
    """
    path, now = target_path(target, project_root), utc_now()
    place = Place(project_root or ledger_root(path), scope, str(path), workflow)
    status = CANCELLED if action == "cancel" else status
    if (asking["force"] or asking["reason"]) and (action == "begin" or status != CANCELLED):
        raise click.UsageError("--force and --reason go with --action cancel, or --status cancelled")
    if action == "begin":
        outcome = dispatch.begin(place, revision or _git_head(place), worker_id, external_run_id, now)
    else:
        question = Question(place, worker_id, now, **asking)
        outcome = dispatch.end(place, action, status, attempt_id, question.ask, now)
    if as_json:
        say_json(outcome)
    else:
        _show(outcome)
    if action == "begin" and outcome.exit_code == 0 and place.worktree is None:
        say_error(
            printable(
                f"note: {place.target} is no directory yet; when it is, swarm:launch makes its status directory"
            )
        )
    return outcome.exit_code


@dataclass(frozen=True, slots=True)
class Question:
    """What pre-cancel is asked before an attempt becomes `cancelled`, from the flags of the command."""

    place: Place
    worker_id: str | None
    now: datetime
    agent: str | None
    canceller: str | None
    force: bool
    reason: str
    steer_dir: Path | None
    scratch_dir: Path | None
    first_seen_dir: Path | None

    def ask(self, attempt: Attempt) -> precancel.Outcome:
        # A target that is no directory has no status directory: the gate says so, unless one was given.
        tree = self.place.worktree or Worktree(self.place.path)
        return precancel.check_cancel(
            precancel.Request(
                self.agent or self.worker_id or attempt.worker_id or "",
                self.canceller or "",
                *Directories(self.steer_dir, self.scratch_dir, self.first_seen_dir).below(tree),
                dispatched=attempt.started or Broken(f"attempt {attempt.id} has no UTC start"),
                expected_worker=attempt.worker_id,
                force=self.force,
                reason=self.reason,
                identified=attempt.worker_id is not None,
                known=Known(
                    attempt.started,
                    attempt.worker_id is not None,
                    attempt.worker_id is None,
                    (),
                    self._elsewhere,
                ),
            ),
            self.now,
        )

    @property
    def _elsewhere(self) -> str:
        """The worktree of the attempt, when that is in use and another status directory is to speak for it."""
        tree = self.place.worktree
        if tree is None or self.scratch_dir is None or not tree.status_directory.is_dir():
            return ""
        its_own = os.path.realpath(tree.status_directory) == os.path.realpath(self.scratch_dir)
        return "" if its_own else str(tree.root)


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
        return [
            "hint: steer a note, wait for its ack or 3 minutes, or --force with --reason and --canceller-id"
        ]
    if outcome.decision == "LEDGER_UNUSABLE":
        return ["hint: nothing was changed; mend or move aside the file named above"]
    return []


def _git_head(place: Place) -> str:
    try:
        answer = subprocess.run(
            ["git", "-C", str((place.worktree or Worktree(place.project_root)).root), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            timeout=GIT_TIMEOUT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return answer.stdout.strip() or "unknown"


@click.command("swarm:launch", cls=WorkerCommand)
@click.option(
    "--worktree-map",
    type=DIRECTORY,
    help="JSON array of objects with worktree_path and, if you like, story_id.",
)
@click.option("--target-id", "--target", "targets", type=TEXT, multiple=True, help="A worktree; repeatable.")
@project_option
@json_option
def swarm_launch(
    worktree_map: Path | None, targets: tuple[str, ...], project_root: Path | None, as_json: bool
) -> int:
    """Make the status directories of worktrees; before workers are spawned into them, all or none. Exit 0: done, 2: not."""
    try:
        wanted = [*(read_map(worktree_map) if worktree_map else []), *map(Wanted, targets)]
        if not wanted:
            raise click.UsageError("nothing to launch: give --worktree-map FILE or --target-id WORKTREE")
        launched = launch(wanted, project(project_root), Path.cwd())
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--worktree-map") from None
    except OSError as error:
        raise click.ClickException(f"cannot make a status directory: {error}") from None
    if as_json:
        say_json(launched)
    else:
        for each in launched.launched:
            click.echo(
                printable(f"swarm:launch: {each.story_id or each.worktree_path}: {each.status_directory}")
            )
    return 0
