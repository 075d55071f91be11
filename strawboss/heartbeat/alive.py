"""`verify:subagent-alive`: the fail-closed liveness gate, and the only place that says REDISPATCH_OK (spec/2, #2824)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from strawboss.heartbeat.classify import Dispatched, Judgement, Standing, judge
from strawboss.heartbeat.doubts import recent_git_activity
from strawboss.heartbeat.sweep import Sweep
from strawboss.heartbeat.utc import age_text

WORD = "REDISPATCH_OK"

WHY = {
    Standing.ALIVE: "alive, but another record of that name is not",
    Standing.STALE: "STALE: its last beat is {age} old",
    Standing.MALFORMED: "MALFORMED: its record cannot be trusted ({failures}); nothing is known of this worker",
    Standing.WITHIN_GRACE: "no beat yet, still within the startup grace: wait",
    Standing.MISSING_AFTER_GRACE: "no record, and its startup grace is over",
    Standing.MISSING_GRACE_UNSAID: "no record",
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
    """One worker that is not proven alive, with what else is known of it."""

    agent_id: str
    standing: str
    takeover: bool
    why: str
    recent_git_activity: bool | None


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
class Verdict:
    """`red` holds a judgement for each worker that is not proven alive; `required` is empty when all count."""

    swept: Sweep
    required: tuple[str, ...]
    red: tuple[Judgement, ...]

    @property
    def exit_code(self) -> int:
        if self.swept.sees_nothing:
            return 2
        all_seen = bool(self.required) or not self.swept.errors
        return 0 if all_seen and not self.red else 1

    @property
    def takeovers(self) -> tuple[Judgement, ...]:
        return tuple(judged for judged in self.red if judged.takeover) if self.exit_code == 1 else ()


def decide(
    swept: Sweep, required: tuple[str, ...], dispatched: Callable[[str], Dispatched] = lambda _agent: None
) -> Verdict:
    """With `required` only those workers count, first record of a name first; without it every record does."""
    names = required or tuple(dict.fromkeys(record.label for record in swept.records if not record.ok))
    judged = (judge(name, swept.records, dispatched(name), swept.now) for name in dict.fromkeys(names))
    return Verdict(
        swept, required, tuple(each for each in judged if not required or each.standing is not Standing.ALIVE)
    )


def why(judged: Judgement) -> str:
    """One line on one worker."""
    record = judged.record
    text = WHY[judged.standing].format(
        age=age_text(record.age_seconds if record else None),
        failures="; ".join(record.failures if record else ()),
    )
    return text + _doubt(judged)


def _doubt(judged: Judgement) -> str:
    if len(judged.copies) < 2:
        return ""
    return f"; {len(judged.copies)} records claim this name: {', '.join(copy.path for copy in judged.copies)}"


def git_activity(verdict: Verdict) -> Mapping[str, bool | None]:
    """Recent commits beside each red worker: in the worktree of its record, or in the only one looked at."""
    return {judged.agent_id: _git_activity(judged, verdict.swept) for judged in verdict.red}


def _git_activity(judged: Judgement, swept: Sweep) -> bool | None:
    directories = [str(Path(judged.record.path).parent)] if judged.record else swept.directories
    if len(directories) != 1:
        return None
    return recent_git_activity(directories[0], swept.now, swept.stale_after)


def report(verdict: Verdict, activity: Mapping[str, bool | None]) -> AliveReport:
    swept = verdict.swept
    minutes = swept.stale_after / 60
    return AliveReport(
        all_ok=verdict.exit_code == 0,
        redispatch_ok=bool(verdict.takeovers),
        required_agents=list(verdict.required),
        missing_or_stale_agents=[judged.agent_id for judged in verdict.red],
        redispatch_agents=[judged.agent_id for judged in verdict.takeovers],
        recent_git_activity=_any(activity),
        workers=[_worker(judged, activity) for judged in verdict.red],
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


def _any(activity: Mapping[str, bool | None]) -> bool | None:
    if any(activity.values()):
        return True
    return None if None in activity.values() or not activity else False


def _worker(judged: Judgement, activity: Mapping[str, bool | None]) -> Worker:
    return Worker(
        judged.agent_id, judged.standing.value, judged.takeover, why(judged), activity.get(judged.agent_id)
    )


def success_text(verdict: Verdict) -> str:
    if verdict.required:
        return f"verify_subagent_alive: {len(verdict.required)} required agent(s) alive"
    return f"verify_subagent_alive: {len(verdict.swept.records)} record(s), all alive"


def failure_lines(verdict: Verdict, activity: Mapping[str, bool | None]) -> list[str]:
    """What stderr says at exit 1: the red workers, then the word for those whose death is proven, then the route."""
    lines = ["verify_subagent_alive: FAILED"]
    for judged in verdict.red:
        lines.append(f"  {judged.agent_id}: {why(judged)}")
        if activity.get(judged.agent_id):
            lines.append(
                f"  {judged.agent_id}: its worktree had a commit recently; look before you take over"
            )
    lines += [f"  {error}" for error in verdict.swept.errors]
    names = ", ".join(judged.agent_id for judged in verdict.takeovers)
    return lines + (_takeover_lines(names, verdict.takeovers[0].agent_id) if names else [])


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
