"""`verify:subagent-alive`: the fail-closed liveness gate, and the only place that says REDISPATCH_OK.

Source: docs/heartbeat.md#death-and-takeover.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import msgspec

from strawboss.heartbeat.classify import Dispatched, Judgement, Standing, judge
from strawboss.heartbeat.doubts import recent_git_activity, recent_pull_request_activity
from strawboss.heartbeat.gh import Ask
from strawboss.heartbeat.layout import worktree_of
from strawboss.heartbeat.sweep import Sweep
from strawboss.heartbeat.utc import age_text
from strawboss.system.json_files import Broken

WORD = "REDISPATCH_OK"

WHY = {
    Standing.ALIVE: "alive",
    Standing.STALE: "STALE: its last beat is {age} old",
    Standing.SILENT: "SILENT: it beats, but there was no recent commit or change of its pull request; "
    "its beats do not clear pre-cancel, its answer to a status request does",
    Standing.MALFORMED: "MALFORMED: its record cannot be trusted ({failures}); nothing is known of this worker",
    Standing.WITHIN_GRACE: "no beat yet, still within the startup grace: wait",
    Standing.MISSING_AFTER_GRACE: "no record, and its startup grace is over",
    Standing.MISSING_GRACE_UNSAID: "no record",
    Standing.DOUBTED: "nothing proves its death: {doubt}; give --dispatched-at if you sent it",
    Standing.MISSING_GRACE_UNKNOWN: "no record, and the dispatch time cannot be read: give --dispatched-at",
}


class AliveRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One swept record in the gate's JSON."""

    agent_id: str | None
    phase: str | None
    wait_kind: str | None
    head_sha: str | None
    pr_number: int | None
    last_heartbeat_at: str | None
    age_seconds: float | None
    is_stale: bool
    is_terminal: bool
    failures: list[str]
    ok: bool


class Worker(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One worker that counts, with what else is known of it. `takeover` is true where the word was said for it."""

    agent_id: str
    standing: str
    takeover: bool
    why: str
    recent_git_activity: bool | None
    recent_pr_activity: bool | None


class SweepSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    scratch_dirs: list[str]
    threshold_minutes: int | float
    stale_count: int
    malformed_count: int
    sweep_errors: list[str]


class AliveReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`verify:subagent-alive --json`. `redispatch_ok` is true when the word was said for at least one agent."""

    all_ok: bool
    redispatch_ok: bool
    required_agents: list[str]
    missing_or_stale_agents: list[str]
    redispatch_agents: list[str]
    recent_git_activity: bool | None
    workers: list[Worker]
    records: list[AliveRow]
    sweep: SweepSummary


@dataclass(frozen=True, slots=True)
class Activity:
    """Whether there was a recent commit in a worker's worktree, or a recent change of its pull request; None: unknown."""

    git: bool | None = None
    pull_request: bool | None = None

    @property
    def is_none(self) -> bool:
        return self.git is False and self.pull_request is False


UNKNOWN_ACTIVITY = Activity()
ASKED_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Verdict:
    """`workers` holds a judgement for each that counts; `required` is empty when all count."""

    swept: Sweep
    required: tuple[str, ...]
    workers: tuple[Judgement, ...]

    @property
    def red(self) -> tuple[Judgement, ...]:
        """Those that are not proven alive, or without `required` have a copy that is not well."""
        return tuple(
            each for each in self.workers if each.standing is not Standing.ALIVE or self._has_bad(each)
        )

    def _has_bad(self, judged: Judgement) -> bool:
        return not self.required and not all(copy.ok for copy in judged.copies)

    @property
    def exit_code(self) -> int:
        # A directory that could not be looked into may hold the beat that is missing or the newer copy.
        if self.swept.sees_nothing or (self.swept.errors and self.red):
            return 2
        all_seen = bool(self.required) or not self.swept.errors
        return 0 if all_seen and not self.red else 1

    @property
    def takeovers(self) -> tuple[Judgement, ...]:
        return tuple(judged for judged in self.red if judged.takeover) if self.exit_code == 1 else ()


def decide(
    swept: Sweep,
    required: tuple[str, ...],
    dispatched: Callable[[str], Dispatched] = lambda _agent: None,
    activity: Mapping[str, Activity] = MappingProxyType({}),
    doubt: Callable[[str], str] = lambda _agent: "",
) -> Verdict:
    """With `required` only those workers count, first record of a name first; without it every record does.

    `activity` counts where it is given, which is where the host reports the worker as running
    (docs/heartbeat.md#death-and-takeover). `doubt` says why an agent is not known to be the worker that was sent.
    """
    names = dict.fromkeys(required or (record.label for record in swept.records))
    judged = (judge(name, swept.records, dispatched(name), swept.now, doubt(name)) for name in names)
    return Verdict(
        swept,
        required,
        tuple(
            _with_activity(
                each, activity.get(each.agent_id, UNKNOWN_ACTIVITY), dispatched(each.agent_id), swept
            )
            for each in judged
        ),
    )


def _with_activity(judged: Judgement, activity: Activity, dispatched: Dispatched, swept: Sweep) -> Judgement:
    ended = judged.record is not None and judged.record.has_ended
    if judged.standing is not Standing.ALIVE or ended or not activity.is_none:
        return judged
    # A worker that was sent out a moment ago has had no time to be silent.
    if isinstance(dispatched, Broken) or (
        dispatched and (swept.now - dispatched).total_seconds() <= swept.stale_after
    ):
        return judged
    proven = not judged.doubt and all(copy.ok for copy in judged.copies)
    return replace(judged, standing=Standing.SILENT, takeover=proven)


def why(judged: Judgement) -> str:
    """One line on one worker."""
    record = judged.record
    text = WHY[judged.standing].format(
        age=age_text(record.age_seconds if record else None),
        failures="; ".join(record.failures if record else ()),
        doubt=judged.doubt,
    )
    return text + _doubt(judged)


def _doubt(judged: Judgement) -> str:
    if len(judged.copies) < 2:
        return ""
    return f"; {len(judged.copies)} records claim this name: {', '.join(copy.path for copy in judged.copies)}"


def recent_activity(verdict: Verdict, ask_in: Callable[[Path], Ask]) -> Mapping[str, Activity]:
    """What came of each worker lately, in the worktree of its record or in the only one looked at, and of its pull
    request. All are asked about at once: each may take as long as its program may."""
    with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
        found = pool.map(lambda judged: _activity(judged, verdict.swept, ask_in), verdict.workers)
        return {judged.agent_id: each for judged, each in zip(verdict.workers, found, strict=True)}


def _activity(judged: Judgement, swept: Sweep, ask_in: Callable[[Path], Ask]) -> Activity:
    directories = [str(Path(judged.record.path).parent)] if judged.record else swept.directories
    if len(directories) != 1:
        return UNKNOWN_ACTIVITY
    git = recent_git_activity(directories[0], swept.now, swept.stale_after)
    number, root = judged.record.pr_number if judged.record else None, worktree_of(Path(directories[0]))
    if number is None or root is None:
        # Without a pull request there is none to be silent or busy.
        return Activity(git, False if number is None else None)
    return Activity(git, recent_pull_request_activity(ask_in(root), number, swept.now, swept.stale_after))


def report(verdict: Verdict, activity: Mapping[str, Activity]) -> AliveReport:
    swept = verdict.swept
    minutes = swept.stale_after / 60
    return AliveReport(
        all_ok=verdict.exit_code == 0,
        redispatch_ok=bool(verdict.takeovers),
        required_agents=list(verdict.required),
        missing_or_stale_agents=[judged.agent_id for judged in verdict.red],
        redispatch_agents=[judged.agent_id for judged in verdict.takeovers],
        recent_git_activity=_any([each.git for each in activity.values()]),
        workers=[_worker(judged, verdict, activity) for judged in verdict.workers],
        records=[
            AliveRow(
                **{name: getattr(record, name) for name in AliveRow.__struct_fields__}
                | {"failures": list(record.failures)}
            )
            for record in swept.records
        ],
        sweep=SweepSummary(
            list(swept.directories),
            int(minutes) if minutes.is_integer() else minutes,
            len(swept.stale),
            len(swept.malformed),
            list(swept.errors),
        ),
    )


def _any(answers: list[bool | None]) -> bool | None:
    if any(answers):
        return True
    return None if None in answers or not answers else False


def _worker(judged: Judgement, verdict: Verdict, activity: Mapping[str, Activity]) -> Worker:
    found = activity.get(judged.agent_id, UNKNOWN_ACTIVITY)
    return Worker(
        judged.agent_id,
        judged.standing.value,
        judged in verdict.takeovers,
        why(judged),
        found.git,
        found.pull_request,
    )


def success_lines(verdict: Verdict, activity: Mapping[str, Activity]) -> list[str]:
    """What is said at exit 0, with what came of each worker."""
    count = (
        f"{len(verdict.required)} required agent(s) alive" if verdict.required else _all_alive(verdict.swept)
    )
    return [f"verify_subagent_alive: {count}", *_activity_lines(verdict.workers, activity)]


def _all_alive(swept: Sweep) -> str:
    return f"{len(swept.records)} record(s), all alive"


def failure_lines(verdict: Verdict, activity: Mapping[str, Activity]) -> list[str]:
    """What is said at exit 1: the red workers, then the word for those whose death is proven, then the route."""
    lines = ["verify_subagent_alive: FAILED"]
    lines += [f"  {judged.agent_id}: {why(judged)}" for judged in verdict.red]
    lines += _activity_lines(verdict.workers, activity)
    lines += [f"  {error}" for error in verdict.swept.errors]
    names = ", ".join(judged.agent_id for judged in verdict.takeovers)
    return lines + (_takeover_lines(names, verdict.takeovers[0].agent_id) if names else [])


def _activity_lines(workers: tuple[Judgement, ...], activity: Mapping[str, Activity]) -> list[str]:
    looked = [(judged, activity[judged.agent_id]) for judged in workers if judged.agent_id in activity]
    return [f"  {judged.agent_id}: {activity_text(judged, found)}" for judged, found in looked]


def activity_text(judged: Judgement, found: Activity) -> str:
    """What came of a worker lately: commits, and changes of the pull request that its record names."""
    number = judged.record.pr_number if judged.record else None
    parts = [
        _told("its worktree", "commit", found.git),
        judged.takeover and found.git and "look before you take over",
        number is not None and _told(f"its pull request #{number}", "change", found.pull_request),
    ]
    return "; ".join(part for part in parts if part)


def _told(whose: str, what: str, recently: bool | None) -> str:
    if recently is None:
        return f"whether {whose} had a {what} recently is not known"
    return f"{whose} had {'a' if recently else 'no'} {what} recently"


def _takeover_lines(names: str, example: str) -> list[str]:
    return [
        f"{WORD}: {names}",
        "Take over in this order:",
        f"  1. subagent:pre-cancel --agent {example} --canceller-id <you> --target-id <worktree>",
        f"  2. swarm:pre-dispatch --scope-id <id> --target-id <worktree> --action cancel --agent {example}",
        "  3. swarm:pre-dispatch --scope-id <id> --target-id <worktree>",
        "Without step 2 the third answers DENY_DUPLICATE_ACTIVE: a killed worker's attempt stays running.",
        "When a gated ritual check fails first: session:start --rearm --session-id=<same>",
    ]
