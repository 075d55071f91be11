"""The next beat of an agent from the little its caller says: the rest is what its last record said."""

from __future__ import annotations

from pathlib import Path

from strawboss.heartbeat.record import Beat, Record, examine
from strawboss.heartbeat.utc import utc_now
from strawboss.system.json_files import read_object


def next_beat(
    directory: Path,
    agent_id: str,
    *,
    parent_id: str | None = None,
    message: str | None = None,
    phase: str | None = None,
    terminal_state: str | None = None,
    pr_number: int | None = None,
    wait_kind: str | None = None,
    head_sha: str | None = None,
) -> Beat:
    """Raises ValueError for what is still missing or not allowed. A record of an ended or broken life is not continued."""
    before = _unfinished(directory, agent_id)
    parent_id = parent_id or (before.parent_id if before else None)
    if not parent_id:
        raise ValueError(
            "the first beat of an agent needs --parent-id: the run id of the orchestrator it reports to"
        )
    phase = phase or ("terminal" if terminal_state else before.phase if before else None) or "starting"
    return Beat(
        agent_id,
        parent_id,
        phase,
        message or phase,
        terminal_state=terminal_state,
        pr_number=pr_number or (before.pr_number if before else None),
        wait_kind=wait_kind,
        head_sha=head_sha or (before.head_sha if before else None),
        extra=(before.extra or {}) if before else {},
    )


def _unfinished(directory: Path, agent_id: str) -> Record | None:
    path = directory / f"{agent_id}.json"
    content = read_object(path)
    if content is None:
        return None
    record = examine(str(path), agent_id, content, utc_now(), stale_after=float("inf"))
    return None if record.failures or record.is_terminal else record
