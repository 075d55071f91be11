"""When a worker was dispatched and as whom, as the ledgers of attempts and the child leases know it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

from strawboss.heartbeat.attempts.ledger import Attempt, Unit, all_units, ledger_directory, target_key
from strawboss.heartbeat.classify import Dispatched, Known
from strawboss.heartbeat.layout import Worktree, worktree_of
from strawboss.heartbeat.occupancy import ChildLease, read_child_lease
from strawboss.heartbeat.places import ledger_roots
from strawboss.system.json_files import Broken


def dispatch(ledger_of: Path | None, agent_id: str, scratch_directories: Iterable[str | Path]) -> Known:
    """What the ledgers and leases know of a worker whose records would lie in these directories.

    Looked for in the ledger of the project that is named, else in those of the worktrees the directories are of. Of the
    active attempts that may be this worker's the latest start counts; one that names no worker may be anybody's in its
    worktree. A damaged unit may be the very one that says "just dispatched": then the start is Broken, never None.
    """
    trees = [worktree_of(Path(each)) or Path(each) for each in scratch_directories]
    units = list(_units(ledger_of, trees))
    if broken := next((unit for unit in units if isinstance(unit, Broken)), None):
        return Known(broken)
    active = [(unit, attempt) for unit in units if isinstance(unit, Unit) for attempt in unit.active]
    return _known(agent_id, trees, active)


def _units(ledger_of: Path | None, trees: list[Path]) -> Iterator[Unit | Broken]:
    roots = [ledger_of] if ledger_of else [root for tree in trees for root in ledger_roots(tree)]
    for root in dict.fromkeys(roots):
        yield from all_units(ledger_directory(root))


def _known(agent_id: str, trees: list[Path], active: list[tuple[Unit, Attempt]]) -> Known:
    own = [(unit, attempt) for unit, attempt in active if attempt.worker_id == agent_id]
    here = [attempt for unit, attempt in active if _is_of(unit, trees)]
    nameless = [attempt for attempt in here if attempt.worker_id is None]
    elsewhere = [unit for unit, attempt in own if attempt not in here and _is_in_use(unit)]
    is_here = any(attempt in here for _, attempt in own)
    return Known(
        _latest([*(attempt for _, attempt in own), *nameless]),
        named=bool(own) or any(_has_lease(tree, agent_id) for tree in trees),
        nameless=bool(nameless),
        others=tuple(sorted({each.worker_id for each in here if each.worker_id} - {agent_id})),
        elsewhere=elsewhere[0].target_path if elsewhere and not is_here else "",
    )


def _is_of(unit: Unit, trees: list[Path]) -> bool:
    target = os.path.realpath(unit.target_path)
    return any(
        target == os.path.realpath(tree) or unit.key.target == target_key(str(tree), tree) for tree in trees
    )


def _is_in_use(unit: Unit) -> bool:
    return Worktree(Path(unit.target_path)).status_directory.is_dir()


def _has_lease(tree: Path, agent_id: str) -> bool:
    return isinstance(read_child_lease(Worktree(tree), agent_id), ChildLease)


def _latest(attempts: list[Attempt]) -> Dispatched:
    starts = list(map(_start, attempts))
    broken = next((start for start in starts if isinstance(start, Broken)), None)
    return broken or max((start for start in starts if not isinstance(start, Broken)), default=None)


def _start(attempt: Attempt) -> datetime | Broken:
    return attempt.started or Broken(f"attempt {attempt.id}: startedAt is not a UTC time")
