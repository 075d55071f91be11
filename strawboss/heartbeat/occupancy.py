"""Who occupies a worktree: an advisory lease against accidental collision, no protection against a determined user.

Two axes: an unknown lease (absent, stale, of another tree) fails open, an unknown identity on a live lease fails
closed. The lease is short so that a dead holder frees the tree; a session's ritual outlives it 24 to 1.

Source: docs/heartbeat.md#occupancy.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec

from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.turn import turn_at
from strawboss.heartbeat.utc import age_text, format_utc, parse_utc
from strawboss.system.files import make_private_directory
from strawboss.system.json_files import Broken, read_object, write_json

OCCUPANCY_TTL = timedelta(minutes=20)
OCCUPANCY_AGE_CAP = timedelta(hours=12)
RITUAL_STALENESS = timedelta(hours=8)
INTENTS = ("mutation", "swarm", "review")
ADVISORY = "Occupancy is advisory coordination: another session works in this tree."
# Another worktree first; taking the lease over is not on offer.
REMEDY = "Use another worktree, ask the occupant for a grant, or work read-only."


class LeaseState(Enum):
    NONE = "no lease"
    LIVE = "live"
    HEARTBEAT_STALE = "heartbeat-stale"
    AGE_CAPPED = "age-capped"
    OTHER_TREE = "lease of another tree"


@dataclass(frozen=True, slots=True)
class Occupancy:
    """A worktree's lease as found, and whether it is live now."""

    session_id: str
    state: LeaseState
    intent: str = ""
    heartbeat_age: float | None = None
    grantees: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChildLease:
    """The dispatcher's note about one child: whom it reports to, and whose occupancy it works under."""

    agent_id: str
    parent_id: str | None
    occupancy_owner: str | None


@dataclass(frozen=True, slots=True)
class Gate:
    """Whether a presenter may write here, and why."""

    allowed: bool
    reason: str


class OccupancyReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`occupancy show --json`. `may_write` is the gate's answer for the given session, or for an unknown one."""

    session_id: str | None
    state: str
    intent: str
    heartbeat_age_seconds: float | None
    may_write: bool
    reason: str


NOBODY = Occupancy("", LeaseState.NONE)


def read_occupancy(worktree: Worktree, now: datetime) -> Occupancy:
    """A missing or broken lease, or one without a session, is no lease."""
    content = read_object(worktree.occupancy_file)
    if not isinstance(content, dict) or not _name(content, "session_id"):
        return NOBODY
    heartbeat = parse_utc(str(content.get("heartbeat_at")))
    return Occupancy(
        str(content["session_id"]),
        _state(content, worktree, now),
        str(content.get("intent") or ""),
        (now - heartbeat).total_seconds() if heartbeat else None,
        tuple(_grantees(content.get("grants"), now)),
    )


def _state(content: dict[str, Any], worktree: Worktree, now: datetime) -> LeaseState:
    tree = content.get("worktree_path")
    if not isinstance(tree, str) or Path(tree).resolve() != worktree.root.resolve():
        return LeaseState.OTHER_TREE
    claimed, heartbeat = (parse_utc(str(content.get(name))) for name in ("claimed_at", "heartbeat_at"))
    if claimed is None or now - claimed > OCCUPANCY_AGE_CAP:
        return LeaseState.AGE_CAPPED
    if heartbeat is None or now - heartbeat > OCCUPANCY_TTL:
        return LeaseState.HEARTBEAT_STALE
    return LeaseState.LIVE


def _grantees(grants: object, now: datetime) -> Iterator[str]:
    for grant in grants if isinstance(grants, list) else []:
        expires = parse_utc(str(grant.get("expires_at"))) if isinstance(grant, dict) else None
        if expires and expires > now and isinstance(grantee := grant.get("session_id"), str):
            yield grantee


def write_gate(lease: Occupancy, presenter: str) -> Gate:
    """The two-axis policy."""
    member = bool(presenter) and presenter in (lease.session_id, *lease.grantees)
    if lease.state is LeaseState.LIVE:
        if member:
            return Gate(True, "the lease is the presenter's, or grants to it")
        age = age_text(lease.heartbeat_age)
        return Gate(False, f"{ADVISORY} {REMEDY} (held by {lease.session_id}, last seen {age} ago)")
    if lease.state is LeaseState.AGE_CAPPED and member:
        return Gate(False, "the lease is older than 12 hours: claim it again")
    return Gate(True, f"free: {lease.state.value}")


def claim(
    worktree: Worktree, session_id: str, intent: str, before: Occupancy, now: datetime
) -> dict[str, Any]:
    """The lease to write for a claim. A live lease of the same session is renewed and keeps its claim time."""
    content = read_object(worktree.occupancy_file)
    kept = content if isinstance(content, dict) and before.session_id == session_id else {}
    renewed = before.state is LeaseState.LIVE and isinstance(kept.get("claimed_at"), str)
    return kept | {
        "schemaVersion": 1,
        "session_id": session_id,
        "worktree_path": str(worktree.root.resolve()),
        "intent": intent,
        "claimed_at": kept["claimed_at"] if renewed else format_utc(now),
        "heartbeat_at": format_utc(now),
        "identity_provenance": "explicit",
        "host": socket.gethostname(),
        "address": None,
        "retain_capable": False,
        "join_protocol": "heartbeat-file",
    }


def take(worktree: Worktree, session_id: str, intent: str, now: datetime) -> Gate:
    """Claim a free tree, or renew; the gate says why not, or what was replaced. Raises OSError."""
    make_private_directory(worktree.occupancy_file.parent)
    with turn_at(worktree.occupancy_file):
        before = read_occupancy(worktree, now)
        if before.state is LeaseState.LIVE and before.session_id != session_id:
            return write_gate(before, "")
        write_json(worktree.occupancy_file, claim(worktree, session_id, intent, before, now))
    other = before.session_id not in ("", session_id)
    return Gate(True, f"the {before.state.value} lease of {before.session_id}" if other else "")


def give_back(worktree: Worktree, session_id: str, now: datetime) -> Gate:
    """Free the tree unless another session holds it. Raises OSError."""
    if not worktree.occupancy_file.exists():
        return Gate(True, "")
    with turn_at(worktree.occupancy_file):
        holder = read_occupancy(worktree, now).session_id
        if holder not in ("", session_id):
            return Gate(False, f"the lease is {holder}'s, not {session_id}'s; left as it is")
        worktree.occupancy_file.unlink(missing_ok=True)
    return Gate(True, "")


def record_child(
    worktree: Worktree, agent_id: str, parent_id: str, owner: str, incarnation: str
) -> ChildLease | Broken | None:
    """Leave the dispatcher's note about a child; the note it replaced. Raises OSError."""
    path = worktree.child_lease_file(agent_id)
    make_private_directory(path.parent)
    with turn_at(path):
        before = read_child_lease(worktree, agent_id)
        write_json(path, child_lease(worktree, agent_id, parent_id, owner, incarnation))
    return before


def read_child_lease(worktree: Worktree, agent_id: str) -> ChildLease | Broken | None:
    """None when the dispatcher left no note. A note for another agent under this name is broken."""
    content = read_object(worktree.child_lease_file(agent_id))
    if content is None or isinstance(content, Broken):
        return content
    if content.get("agent_id") != agent_id:
        return Broken("names another agent")
    return ChildLease(agent_id, _name(content, "parent_id"), _name(content, "occupancy_owner"))


def child_lease(
    worktree: Worktree, agent_id: str, parent_id: str, owner: str, incarnation: str
) -> dict[str, Any]:
    """The note a dispatcher leaves about a child; it gives the parent the right to steer it."""
    return {
        "schemaVersion": 2,
        "agent_id": agent_id,
        "parent_id": parent_id,
        "occupancy_owner": owner,
        "worktree_path": str(worktree.root.resolve()),
        "identity_source_kind": "payload",
        "incarnation": incarnation,
        "provenance": "dispatch",
    }


def _name(content: dict[str, Any], name: str) -> str | None:
    value = content.get(name)
    return value if isinstance(value, str) and value.strip() else None
