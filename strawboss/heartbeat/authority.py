"""Who may steer a child: what the disk says, never what the writer says of itself (docs/heartbeat.md#steer)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.occupancy import ChildLease, LeaseState, Occupancy, read_child_lease, read_occupancy
from strawboss.heartbeat.record import STALE_AFTER_SECONDS, examine
from strawboss.system.json_files import Broken, read_object


@dataclass(frozen=True, slots=True)
class Claims:
    """What is on record about a child: its lease, its heartbeat's parent, and who occupies its worktree."""

    lease: ChildLease | Broken | None
    heartbeat_parent: str | None
    occupancy: Occupancy


def read_claims(worktree: Worktree, agent_id: str, now: datetime) -> Claims:
    return Claims(
        read_child_lease(worktree, agent_id),
        _heartbeat_parent(worktree, agent_id, now),
        read_occupancy(worktree, now),
    )


def _heartbeat_parent(worktree: Worktree, agent_id: str, now: datetime) -> str | None:
    path = worktree.heartbeat_file(agent_id)
    content = read_object(path)
    if content is None:
        return None
    record = examine(str(path), agent_id, content, now, STALE_AFTER_SECONDS)
    # A broken record gives nobody a right.
    return None if record.failures else record.parent_id or None


def refusal(claims: Claims, writer_kind: str, writer_id: str) -> str | None:
    """Why this writer may not steer the child; None when it may."""
    if isinstance(claims.lease, Broken):
        return f"the child occupancy lease cannot be used: {claims.lease.reason}"
    if writer_kind == "occupancy-owner":
        return _owner_refusal(claims.lease, claims.occupancy, writer_id)
    parents = {claims.lease.parent_id if claims.lease else None, claims.heartbeat_parent} - {None}
    if not parents:
        return "neither a child occupancy lease nor a sound heartbeat names a parent for this agent"
    if parents != {writer_id}:
        return f"the child occupancy lease or the heartbeat names another parent than {writer_id}"
    return None


def _owner_refusal(lease: ChildLease | None, occupancy: Occupancy, writer_id: str) -> str | None:
    if occupancy.state is not LeaseState.LIVE or occupancy.session_id != writer_id:
        return f"the worktree has no live occupancy of {writer_id}"
    if lease and lease.occupancy_owner not in (None, writer_id):
        return "the child occupancy lease names another owner"
    return None
