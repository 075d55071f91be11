"""`agent:monitor`, `verify:subagent-alive`, `agent:beat`."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from strawboss.cli.heartbeat_params import (
    DIRECTORY,
    PLAIN_NAME,
    SLUG,
    TEXT,
    UTC_TIME,
    WorkerCommand,
    answer,
    json_option,
    project_option,
    say_error,
    say_json,
    sweep_options,
    target_option,
    worktree,
)
from strawboss.cli.params import DURATION
from strawboss.cli.tables import show_table
from strawboss.heartbeat import alive, monitor
from strawboss.heartbeat.alive import Activity
from strawboss.heartbeat.attempts.lookup import dispatch
from strawboss.heartbeat.beat_for_process import keep_beating
from strawboss.heartbeat.beats import Said, next_beat
from strawboss.heartbeat.classify import Known, Status
from strawboss.heartbeat.clocks import Clocks, sleep_clock, slept_between
from strawboss.heartbeat.gh import ask_in
from strawboss.heartbeat.record import PHASES, TERMINAL_STATES, WAIT_KINDS
from strawboss.heartbeat.sweep import Sweep, sweep
from strawboss.heartbeat.utc import age_text, utc_now
from strawboss.heartbeat.writer import (
    CADENCE_SECONDS,
    SLOWEST_CADENCE_SECONDS,
    EndedError,
    check_cadence,
    write_next,
)
from strawboss.system.printable import printable
from strawboss.system.process_identity import ProcessIdentity, identify

COLUMNS = ("agent -- status", "age", "phase", "waits for", "PR", "message", "what to do")
STYLES = {
    Status.OK: "green",
    Status.TERMINAL: "dim",
    Status.STALE: "bold red",
    Status.MALFORMED: "bold yellow",
    Status.STALE_MALFORMED: "bold red",
}


@click.command("agent:monitor", cls=WorkerCommand)
@sweep_options
@json_option
@click.option("--watch", is_flag=True, help="Look again and again, until interrupted.")
@click.option(
    "--every", type=DURATION, default="10s", show_default=True, help="Pause between looks of --watch."
)
def agent_monitor(
    scratch_dirs: tuple[str, ...], threshold_minutes: float, as_json: bool, watch: bool, every: float
) -> int:
    """Liveness of every agent that writes heartbeats.

    Exit 0: all well. 1: a record is stale or malformed. 2: no such directory and no record.
    """
    if watch:
        _watch(scratch_dirs, threshold_minutes, as_json, every)
    swept = sweep(scratch_dirs, utc_now(), threshold_minutes * 60)
    _show(swept, as_json)
    return monitor.exit_code(swept)


def _watch(scratch_dirs: tuple[str, ...], threshold_minutes: float, as_json: bool, every: float) -> None:
    clocks, slept, slept_at, before = None, 0.0, 0.0, None
    while True:
        now = Clocks(time.time(), time.monotonic())
        if jump := slept_between(clocks, now):
            slept, slept_at = jump, now.monotonic
        if sys.stdout.isatty():
            click.clear()
        swept = sweep(scratch_dirs, utc_now(), threshold_minutes * 60)
        _show(swept, as_json, before)
        if slept and now.monotonic - slept_at < threshold_minutes * 60:
            say_error(
                f"Resumed from sleep: for {age_text(slept)} nobody could beat; old beats prove nothing yet"
            )
        clocks, before = now, swept
        time.sleep(every)


def _show(swept: Sweep, as_json: bool, before: Sweep | None = None) -> None:
    clock = sleep_clock()
    if as_json:
        return say_json(monitor.report(swept, clock, before))
    if swept.records:
        show_table(COLUMNS, [_row(line) for line in monitor.lines(swept, clock)])
    for error in swept.errors:
        click.echo(f"Cannot look into {printable(error)}: create it when dispatching, or mend --scratch-dir")
    if doubt := monitor.suspicion(swept, before):
        click.echo(printable(doubt))
    click.echo(monitor.result_line(swept))
    return None


def _row(line: monitor.Line) -> list[str | Text]:
    style = STYLES[line.status]
    head = Text(f"{printable(line.label)} -- {line.status.value}", style)
    waits = (line.age, line.phase, line.waits_for, line.pull_request, line.message)
    return [head, *waits, Text(printable(line.next_step), "" if line.status is Status.OK else style)]


@click.command("verify:subagent-alive", cls=WorkerCommand)
@sweep_options
@click.option(
    "--require-agent",
    "required",
    multiple=True,
    type=PLAIN_NAME,
    help="Worker that must be alive; repeatable.",
)
@click.option(
    "--dispatched-at", type=UTC_TIME, help="When the workers were dispatched; otherwise from the ledger."
)
@click.option(
    "--host-running",
    is_flag=True,
    help="The host says that they run: then no recent commit and no change of the pull request count as death, too.",
)
@project_option
@json_option
def verify_subagent_alive(
    scratch_dirs: tuple[str, ...],
    threshold_minutes: float,
    required: tuple[str, ...],
    dispatched_at: datetime | None,
    host_running: bool,
    project_root: Path | None,
    as_json: bool,
) -> int:
    """Fail-closed liveness gate.

    Exit 0: all required workers are alive. 1: not; REDISPATCH_OK names those that may be replaced. 2: nothing to see.
    """
    if threshold_minutes * 60 < SLOWEST_CADENCE_SECONDS:
        raise click.BadParameter(
            f"{threshold_minutes:g} is less than the pause between two beats of a healthy worker; write 3 or more",
            param_hint="--threshold-minutes",
        )

    def decide(activity: Mapping[str, Activity]) -> alive.Verdict:
        swept = sweep(scratch_dirs, utc_now(), threshold_minutes * 60)
        known = cache(
            lambda agent: (
                Known(dispatched_at, named=True)
                if dispatched_at
                else dispatch(project_root, agent, scratch_dirs)
            )
        )
        return alive.decide(
            swept,
            required,
            lambda agent: known(agent).started,
            activity if host_running else {},
            lambda agent: known(agent).doubt(agent, swept.records),
        )

    activity = alive.recent_activity(decide({}), ask_in)
    # Asking git and GitHub takes its time: the word is said on what lies there afterwards.
    verdict = decide(activity)
    if as_json:
        say_json(alive.report(verdict, activity))
    else:
        _say_verdict(verdict, activity)
    return verdict.exit_code


def _say_verdict(verdict: alive.Verdict, activity: Mapping[str, Activity]) -> None:
    if verdict.exit_code == 2:
        for error in verdict.swept.errors:
            say_error(f"verify_subagent_alive: config error: {printable(error)}")
        return
    lines = alive.failure_lines if verdict.exit_code else alive.success_lines
    for line in lines(verdict, activity):
        click.echo(printable(line))


@click.command("agent:beat", cls=WorkerCommand)
@click.option(
    "--agent", "--agent-id", required=True, type=SLUG, envvar="STRAWBOSS_AGENT_ID", show_envvar=True
)
@click.option(
    "--parent-id", type=TEXT, envvar="STRAWBOSS_PARENT_ID", show_envvar=True, help="Who it reports to."
)
@click.option("--message", type=TEXT, help="One line: what the agent does right now.")
@click.option("--phase", type=click.Choice(PHASES), help="'starting' at first, then as before.")
@click.option(
    "--terminal-state", type=click.Choice(TERMINAL_STATES), help="With --while: what its end means."
)
@click.option("--pr", "pr_number", type=click.IntRange(min=1))
@click.option("--wait-kind", type=click.Choice(WAIT_KINDS), help="What a wait is blocked on.")
@click.option("--head-sha", type=TEXT)
@target_option
@click.option("--scratch-dir", type=DIRECTORY, help="Status directory, if not that of the worktree.")
@click.option("--every", type=DURATION, help="With --while: pause between beats; 90s if absent.")
@click.option(
    "--while", "process", type=click.IntRange(min=1), metavar="PID", help="Keep beating for this process."
)
@json_option
def agent_beat(
    agent: str,
    target: str | None,
    scratch_dir: Path | None,
    every: float | None,
    process: int | None,
    terminal_state: str | None,
    as_json: bool,
    **said: Any,
) -> int:
    """Write a heartbeat; with --while, keep writing for a process and end with its terminal record.

    What is not given stays as the agent's last record has it. Exit 1: the agent has said its last word.
    """
    if every and not process:
        raise click.UsageError(
            "--every needs --while PID: without a process there is nothing to keep beating for"
        )
    pause = CADENCE_SECONDS if every is None else every
    identity = _running(process) if process else None
    directory = scratch_dir or worktree(target).status_directory
    words = Said(terminal_state=None if process else terminal_state, begins=process is not None, **said)
    try:
        check_cadence(pause)
        written = write_next(directory, agent, lambda before: next_beat(agent, words, before), utc_now())
        answer(0, f"agent:beat: {agent} {written.beat.phase} in {written.path}", as_json, written.replaced)
        if identity:
            keep_beating(
                directory, written.beat, identity, pause, terminal_state or "ERRORED", _report_trouble
            )
    except EndedError as ended:
        return answer(1, f"agent:beat: {ended}", as_json)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"cannot write the heartbeat: {error}") from None
    return 0


def _running(pid: int) -> ProcessIdentity:
    identity = identify(pid)
    if identity is None:
        raise click.BadParameter(
            f"no process {pid} to be seen; give the pid of a running one", param_hint="--while"
        )
    return identity


def _report_trouble(error: OSError) -> None:
    say_error(f"agent:beat: {printable(str(error))}; trying again")
