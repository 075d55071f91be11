"""Where the heartbeat contract keeps its files below a worktree, and which agent ids may become file names."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

SCRATCH = ".deft-scratch"
STATUS_DIRECTORY = Path(".deft-scratch/subagent-status")
STEER_DIRECTORY = Path(".deft-scratch/subagent-steer")
FIRST_SEEN_DIRECTORY = Path(".deft-scratch/subagent-steer-firstseen")
ARM_DIRECTORY = Path(".deft-scratch/merge-path-arm")
LEDGER_DIRECTORY = Path(".deft/delivery-attempts")
OCCUPANCY_FILE = Path(".deft/occupancy.json")
CHILD_OCCUPANCY_DIRECTORY = Path(".deft/child-occupancy")

_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_RESERVED_ENDINGS = (".ack", ".steer", ".firstseen")
SLUG_RULE = (
    "1 to 128 letters, digits, dots, dashes and underscores, beginning with a letter or digit, "
    "without '..' and not ending in .ack, .steer or .firstseen"
)


PLAIN_NAME_RULE = (
    "1 to 128 letters, digits, dots, dashes and underscores, beginning with a letter or digit, without '..'"
)


def is_plain_name(agent_id: str) -> bool:
    """Whether an agent id names one file of a directory and nothing else: what a reader may be asked for."""
    return bool(_SLUG.fullmatch(agent_id)) and ".." not in agent_id


def is_safe_slug(agent_id: str) -> bool:
    """A plain name that cannot be taken for another kind of file either: what a writer may use."""
    return is_plain_name(agent_id) and not agent_id.endswith(_RESERVED_ENDINGS)


def worktree_of(directory: Path) -> Path | None:
    """The worktree above one of its `.deft-scratch/…` directories; None for a directory elsewhere."""
    path = Path(os.path.abspath(directory))  # noqa: PTH100 - `..` resolved, links kept as given
    return path.parents[1] if path.parent.name == SCRATCH else None


@dataclass(frozen=True, slots=True)
class Worktree:
    """The worktree an agent owns. Its heartbeats live inside it, never in the parent's."""

    root: Path

    @property
    def status_directory(self) -> Path:
        return self.root / STATUS_DIRECTORY

    @property
    def steer_directory(self) -> Path:
        return self.root / STEER_DIRECTORY

    @property
    def first_seen_directory(self) -> Path:
        return self.root / FIRST_SEEN_DIRECTORY

    @property
    def occupancy_file(self) -> Path:
        return self.root / OCCUPANCY_FILE

    def heartbeat_file(self, agent_id: str) -> Path:
        return Path(self.root, STATUS_DIRECTORY, f"{agent_id}.json")

    def child_lease_file(self, agent_id: str) -> Path:
        return self.root / CHILD_OCCUPANCY_DIRECTORY / f"{lease_segment(agent_id)}.json"


def lease_segment(agent_id: str) -> str:
    """An agent id as other tools spell it in a lease's file name."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", agent_id).strip("-.") or "agent"
