"""The next beat of an agent from the little its caller says: the rest is what its last record said."""

from __future__ import annotations

from dataclasses import dataclass

from strawboss.heartbeat.record import Beat, Record
from strawboss.heartbeat.writer import EndedError


@dataclass(frozen=True, slots=True)
class Said:
    """What the caller of `agent:beat` says; None stays as the last record has it, but a wait ends when not named.

    `begins` says without a phase that a new life starts: only who watches a process that runs knows that.
    """

    parent_id: str | None = None
    message: str | None = None
    phase: str | None = None
    terminal_state: str | None = None
    pr_number: int | None = None
    wait_kind: str | None = None
    head_sha: str | None = None
    begins: bool = False


def next_beat(agent_id: str, said: Said, record: Record | None) -> Beat:
    """Raises ValueError for what is still missing or not allowed, EndedError for a beat after the terminal record.

    A record of an ended or broken life is not continued. The first beat of each life says `starting`
    (docs/heartbeat.md#cadence), and after an end it has to be said: a late beat that names no phase is no new life.
    """
    if record and record.has_ended and said.phase != "starting" and not said.begins:
        raise EndedError.of(record)
    before = None if record is None or record.failures or record.has_ended else record
    parent_id = said.parent_id or (before.parent_id if before else None)
    if not parent_id:
        raise ValueError(
            "the first beat of an agent needs --parent-id: the run id of the orchestrator it reports to"
        )
    phase = (
        said.phase or ("terminal" if said.terminal_state else before.phase if before else None) or "starting"
    )
    if record is None and phase != "starting":
        raise ValueError(f"the first beat of an agent says 'starting', not '{phase}'; {phase} comes after it")
    return Beat(
        agent_id,
        parent_id,
        phase,
        said.message or phase,
        terminal_state=said.terminal_state,
        pr_number=said.pr_number or (before.pr_number if before else None),
        wait_kind=said.wait_kind,
        head_sha=said.head_sha or (before.head_sha if before else None),
        extra=(before.extra or {}) if before else {},
    )
