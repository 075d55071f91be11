"""Mode `observe`: a look that does nothing, and says once what it would have done.

Nothing may follow where a key is not durable, and no message is put while the session cannot be asked: so a look that
gets no key and no session state acts on nobody, and stands at the next look where it stood.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any

from strawboss.recovery import messages
from strawboss.recovery.commands import (
    ClosePane,
    Command,
    Notify,
    Outcome,
    ReadSession,
    Result,
    SendIntercom,
    TellLauncher,
    WriteKey,
)
from strawboss.recovery.evidence import Clock, Launcher
from strawboss.recovery.keys import (
    CLOSING,
    CONTINUED,
    GAVE_UP,
    LOST,
    NUDGED,
    RESUMED,
    SEEN,
    UNCLOSED,
    UNNUDGED,
    WARNED,
)
from strawboss.recovery.look import look_at_runs
from strawboss.recovery.memory import Look, Memory, RunReport
from strawboss.recovery.restored.machine import State
from strawboss.recovery.settings import Settings
from strawboss.recovery.verdict import Named, Unknown

Steps = Generator[Command, Any, Look]
MAY_ACT = Named("look.may_act", "strawboss may act")
REFUSED = Unknown("mode: observe")

# What the act would have been that a key stands before. A newer key is "be acted on".
ACTS: Mapping[str, str] = {
    NUDGED: "be asked for its report",
    UNNUDGED: "have a question taken back that was never sent",
    CLOSING: "have its restored pane closed and be handed to its launcher",
    CONTINUED: "be told to go on in its worktree",
    UNCLOSED: "have its unfinished close taken back",
    RESUMED: "be noted as handed to its launcher",
    GAVE_UP: "be given up with a warning",
    LOST: "be reported lost",
    WARNED: "be reported as stranded again",
}
TELLING = "be handed to its launcher"


def take_look(launcher: Launcher, settings: Settings, memory: Memory, now: Clock) -> Steps:
    """One look in the mode that is set; as `look_at_runs`."""
    steps = look_at_runs(launcher, settings, memory, now)
    return observing(steps, memory) if settings.observe else steps


def observing(steps: Steps, memory: Memory) -> Steps:
    """The same look without an effect but its notices, and with one more for each act that it did not do."""
    would: dict[str, str] = {}
    look = yield from _refusing(steps, would)
    waiting = {report.run: TELLING for report in look.runs if report.state == State.TO_TELL}
    would = {**waiting, **would}
    told = {run: f"observed {run} {act}" for run, act in would.items()}
    for report in look.runs:
        if report.run in would and told[report.run] not in memory.warned:
            yield Notify("info", messages.would(report.name, report.run, would[report.run]))
    runs = tuple(_as_observed(report, would) for report in look.runs)
    warned = look.memory.warned | frozenset(told.values())
    return Look(runs, replace(look.memory, warned=warned))


def _refusing(steps: Steps, would: dict[str, str]) -> Steps:
    answer: Any = None
    key_missing = False
    while True:
        try:
            command = steps.send(answer)
        except StopIteration as end:
            look: Look = end.value
            return look
        if isinstance(command, WriteKey):
            key_missing, answer = True, REFUSED
            if command.key != SEEN:
                would[command.run] = ACTS.get(command.key, "be acted on")
        elif isinstance(command, Notify) and key_missing:
            key_missing, answer = False, None  # that the key could not be confirmed, which was no mishap
        else:
            key_missing = False
            answer = _refusal(command) or (yield command)


def _refusal(command: Command) -> Unknown | Result | None:
    if isinstance(command, ReadSession):
        return REFUSED
    if isinstance(command, ClosePane | SendIntercom | TellLauncher):
        return Result(Outcome.FAILED, REFUSED.why)
    return None


def _as_observed(report: RunReport, would: Mapping[str, str]) -> RunReport:
    if report.run not in would:
        return report
    return replace(report, obstacle=MAY_ACT.no(f"mode: observe; it would {would[report.run]}"))
