"""JSON Schema of every file and every `--json` output, made from types. `python -m strawboss.heartbeat.schemas` writes them.

The records are stated here as types for the schema alone: a reader must name all that is wrong with a file, and a
schema validator stops at the first fault (see `record.examine`, `steer.parse_steer`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from strawboss.heartbeat.alive import AliveReport
from strawboss.heartbeat.attempts.dispatch import Outcome as AttemptOutcome
from strawboss.heartbeat.auth import AuthReport
from strawboss.heartbeat.inbox import Left, Letter, SteerReport
from strawboss.heartbeat.launch import LaunchReport
from strawboss.heartbeat.monitor import MonitorReport
from strawboss.heartbeat.occupancy import OccupancyReport
from strawboss.heartbeat.precancel import Outcome as PreCancelOutcome
from strawboss.heartbeat.record import LONGEST_SOUND_MESSAGE
from strawboss.heartbeat.replies import Complaint, Done
from strawboss.heartbeat.review import ReviewReport
from strawboss.system.json_files import encode

DIRECTORY = Path(__file__).parent / "schema"

Utc = Annotated[
    str,
    Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$"),
]
Filled = Annotated[str, Meta(pattern=r"\S")]
# Neither JSON Schema nor Python has a word for "no line break" that the other understands.
Line = Annotated[
    str,
    Meta(
        pattern=r"^(?![\s\S]*[\n\r\u000b\u000c\u001c-\u001e\u0085\u2028\u2029])",
        max_length=LONGEST_SOUND_MESSAGE,
    ),
]
Count = Annotated[int, Meta(ge=1)]
Slug = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]


class HeartbeatFile(msgspec.Struct, kw_only=True):
    """`.deft-scratch/subagent-status/<agent_id>.json`: a child's heartbeat. Unknown keys are ignored."""

    agent_id: str
    parent_id: Filled
    last_heartbeat_at: Utc
    last_message: Line
    phase: Literal[
        "starting", "implementing", "validating", "committing", "pushing", "polling", "fixing", "terminal"
    ]
    terminal_state: (
        Literal["CLEAN", "ERRORED", "TIMEOUT", "STALL", "FAILED", "BLOCKED"] | UnsetType | None
    ) = UNSET
    pr_number: Count | UnsetType | None = UNSET
    wait_kind: Literal["pr:watch", "fix-batch", "reading", "idle", "unknown"] | UnsetType = UNSET
    head_sha: Filled | UnsetType | None = UNSET
    incarnation: str | UnsetType | None = UNSET
    pid: Count | UnsetType | None = UNSET
    extra: dict[str, Any] | UnsetType = UNSET


class SteerFile(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """`.deft-scratch/subagent-steer/<agent_id>.json`: the parent's word to a child."""

    schema: Literal["deft.subagent.steer.v1"]
    agent_id: Slug
    steer_id: Filled
    written_at: Utc
    expires_at: Utc
    writer_kind: Literal["dispatching-parent", "occupancy-owner"]
    writer_id: Filled
    kind: Literal["constraint", "correction", "halt", "note"]
    text: Annotated[str, Meta(pattern=r"\S", max_length=2000)]


class AckFile(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """`.deft-scratch/subagent-steer/<agent_id>.ack.json`: the child has applied that steer."""

    schema: Literal["deft.subagent.steer-ack.v1"]
    agent_id: str
    steer_id: str
    acked_at: Utc


class FirstSeenFile(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """`.deft-scratch/subagent-steer-firstseen/<agent_id>.<steer_id>.json`: when a canceller first saw its steer."""

    schema: Literal["deft.subagent.steer-firstseen.v1"]
    agent_id: str
    steer_id: str
    canceller_id: str
    first_seen_at: Utc


SCHEMAS = {
    "heartbeat": HeartbeatFile,
    "steer": SteerFile,
    "steer-ack": AckFile,
    "steer-firstseen": FirstSeenFile,
    "agent-monitor": MonitorReport,
    "verify-subagent-alive": AliveReport,
    "verify-subagent-steer": SteerReport,
    "subagent-steer": Left,
    "subagent-inbox": Letter,
    "subagent-pre-cancel": PreCancelOutcome,
    "swarm-pre-dispatch": AttemptOutcome,
    "swarm-launch": LaunchReport,
    "occupancy-show": OccupancyReport,
    "verify-review-monitor": ReviewReport,
    "github-auth-modes": AuthReport,
    "done": Done,
    "complaint": Complaint,
}


def schema_of(shape: type) -> bytes:
    return encode({"$schema": "https://json-schema.org/draft/2020-12/schema"} | msgspec.json.schema(shape))


if __name__ == "__main__":
    for name, shape in SCHEMAS.items():
        (DIRECTORY / f"{name}.json").write_bytes(schema_of(shape))
