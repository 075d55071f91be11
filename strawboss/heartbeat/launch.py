"""`swarm:launch`: make ready, all or none, the worktrees that workers will be spawned into.

Source: docs/heartbeat.md#death-and-takeover.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.places import NoPlaceError, find_target, make_scratch
from strawboss.system.json_files import LARGEST_FILE


class Launched(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One worktree that is ready: its status directory is there and `.deft-scratch` is out of git."""

    story_id: str | None
    worktree_path: str
    status_directory: str


class LaunchReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`swarm:launch --json`."""

    ok: bool
    launched: list[Launched]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A worktree of the map, as spelled there, and the story it is for."""

    target: str
    story_id: str | None = None


def read_map(path: Path) -> list[Wanted]:
    """A worktree map: a JSON array of objects with `worktree_path` and, for the reader, `story_id`; other keys stay
    with whoever wrote them. Raises ValueError, in one line."""
    try:
        raw = path.read_bytes()
        rows = msgspec.json.decode(raw) if len(raw) <= LARGEST_FILE else None
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    if not isinstance(rows, list) or not rows:
        raise ValueError(f"{path} is not a JSON array of worktrees, each an object with worktree_path")
    return [_wanted(path, number, row) for number, row in enumerate(rows, 1)]


def _wanted(path: Path, number: int, row: Any) -> Wanted:
    target = row.get("worktree_path") if isinstance(row, dict) else None
    if not isinstance(target, str) or not target.strip():
        raise ValueError(f"{path}: row {number} has no worktree_path")
    story = row.get("story_id")
    return Wanted(target, story if isinstance(story, str) else None)


def launch(wanted: list[Wanted], root: Path, start: Path) -> LaunchReport:
    """Raises NoPlaceError when one of them is not there, and nothing was made then; OSError when one cannot be made."""
    trees = [(each, Worktree(find_target(each.target, root, start))) for each in wanted]
    if missing := [each.target for each, tree in trees if not tree.root.is_dir()]:
        raise NoPlaceError(f"no such worktree: {', '.join(missing)}; add it first, nothing was made")
    return LaunchReport(True, [_make_ready(each, tree) for each, tree in trees])


def _make_ready(wanted: Wanted, tree: Worktree) -> Launched:
    directory = make_scratch(tree.status_directory)
    return Launched(wanted.story_id, str(tree.root), str(directory))
