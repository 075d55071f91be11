"""`agent:monitor`: what a sweep means, as exit code, report and words (docs/heartbeat.md#the-monitor).

A file-only look: it asks no other program, writes nothing, and never says the takeover word.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from strawboss.heartbeat.classify import Status, duplicates, status
from strawboss.heartbeat.clocks import SleepClock
from strawboss.heartbeat.doubts import gather, notes
from strawboss.heartbeat.record import Record
from strawboss.heartbeat.silence import silent_at_once
from strawboss.heartbeat.sweep import Sweep
from strawboss.heartbeat.utc import age_text, format_utc

HINTS = {
    Status.OK: "",
    Status.TERMINAL: "finished: collect its result",
    Status.STALE: "ask verify:subagent-alive before taking over",
    Status.MALFORMED: "mend the writer; nothing is known of this worker",
    Status.STALE_MALFORMED: "mend the writer; ask verify:subagent-alive before taking over",
}


class RecordRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One record in the JSON report. `status` and `notes` are ours; the rest is what other tools print."""

    path: str
    agent_id: str | None
    parent_id: str | None
    incarnation: str | None
    last_heartbeat_at: str | None
    last_message: str | None
    phase: str | None
    terminal_state: str | None
    pr_number: int | None
    wait_kind: str | None
    head_sha: str | None
    age_seconds: float | None
    is_terminal: bool
    is_stale: bool
    failures: list[str]
    ok: bool
    status: str
    notes: list[str]


class MonitorReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`agent:monitor --json`. `threshold_minutes` in minutes, ages in seconds, `now` in UTC.

    `witness_suspect` is true when those of `silent_at_once` are too many for so many deaths (see `silence`).
    """

    scratch_dirs: list[str]
    threshold_minutes: float
    now: str
    record_count: int
    stale_count: int
    malformed_count: int
    all_ok: bool
    records: list[RecordRow]
    sweep_errors: list[str]
    duplicate_agents: list[str]
    witness_suspect: bool
    silent_at_once: list[str]


@dataclass(frozen=True, slots=True)
class Line:
    """One record for people."""

    label: str
    status: Status
    age: str
    phase: str
    waits_for: str
    pull_request: str
    message: str
    next_step: str


def report(swept: Sweep, clock: SleepClock | None, before: Sweep | None = None) -> MonitorReport:
    """`before` is the look before this one, of a monitor that stays."""
    silent = silent_at_once(before, swept)
    return MonitorReport(
        scratch_dirs=list(swept.directories),
        threshold_minutes=swept.stale_after / 60,
        now=format_utc(swept.now),
        record_count=len(swept.records),
        stale_count=len(swept.stale),
        malformed_count=len(swept.malformed),
        all_ok=swept.all_ok,
        records=[_row(record, swept, clock) for record in swept.records],
        sweep_errors=list(swept.errors),
        duplicate_agents=duplicates(swept.records),
        witness_suspect=bool(silent),
        silent_at_once=silent,
    )


def exit_code(swept: Sweep) -> int:
    """0 all well, also when an existing directory is empty; 1 something needs a look; 2 nothing could be seen."""
    if swept.sees_nothing:
        return 2
    return 0 if swept.all_ok else 1


def result_line(swept: Sweep) -> str:
    """The last line of the report."""
    if swept.all_ok:
        return "Result: ALL AGENTS ALIVE" if swept.records else "Result: NO AGENTS TO MONITOR"
    healthy = sum(record.ok for record in swept.records)
    if not swept.stale and not swept.malformed:
        return f"Result: ATTENTION {_counted(len(swept.errors), 'directory error')}, {healthy} healthy"
    return (
        f"Result: ATTENTION {len(swept.stale)} stale, {len(swept.malformed)} malformed, "
        f"{_counted(len(swept.errors), 'directory error')}, {healthy} healthy"
    )


def lines(swept: Sweep, clock: SleepClock | None) -> list[Line]:
    return [_line(record, swept, clock) for record in swept.records]


def suspicion(swept: Sweep, before: Sweep | None) -> str:
    """What to think of many that fell silent at once; empty otherwise."""
    silent = silent_at_once(before, swept)
    if not silent:
        return ""
    return (
        f"Witness suspect: {', '.join(silent)} fell silent at once; a full disk, a clock or a sleep is likelier than "
        f"{len(silent)} deaths. Look again before you take anybody over"
    )


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _line(record: Record, swept: Sweep, clock: SleepClock | None) -> Line:
    word = status(record)
    remarks = [*record.failures, *_notes(record, swept, clock)]
    return Line(
        label=record.label,
        status=word,
        age=age_text(record.age_seconds),
        phase=record.terminal_state or record.phase or "",
        waits_for=record.wait_kind or "",
        pull_request=f"#{record.pr_number}" if record.pr_number is not None else "",
        message=record.last_message or "",
        next_step="; ".join([*remarks, HINTS[word]] if HINTS[word] else remarks),
    )


def _row(record: Record, swept: Sweep, clock: SleepClock | None) -> RecordRow:
    shared = {name: getattr(record, name) for name in RecordRow.__struct_fields__ if hasattr(record, name)}
    return RecordRow(
        **shared | {"failures": list(record.failures)},
        status=status(record).value,
        notes=_notes(record, swept, clock),
    )


def _notes(record: Record, swept: Sweep, clock: SleepClock | None) -> list[str]:
    return list(notes(record, gather(record, swept.now, clock), swept.stale_after))
