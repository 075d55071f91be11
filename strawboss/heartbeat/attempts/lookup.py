"""When a worker was dispatched, as the ledgers of attempts know it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

from strawboss.heartbeat.attempts.ledger import Attempt, Unit, all_units, ledger_directory
from strawboss.heartbeat.classify import Dispatched
from strawboss.heartbeat.layout import worktree_of
from strawboss.heartbeat.places import ledger_roots
from strawboss.system.json_files import Broken


def dispatch_time(
    ledger_of: Path | None, agent_id: str, scratch_directories: Iterable[str | Path]
) -> Dispatched:
    """The latest start among the active attempts that may be this worker's; None when there is none.

    Looked for in the ledger of the project that is named, else in those of the worktrees the directories are of. An
    attempt that names no worker may be anybody's whose records lie in its worktree. A damaged unit may be the very one
    that says "just dispatched": then the answer is Broken, never None.
    """
    trees = [worktree_of(Path(each)) or Path(each) for each in scratch_directories]
    starts = list(_starts(ledger_of, agent_id, trees))
    broken = next((start for start in starts if isinstance(start, Broken)), None)
    return broken or max((start for start in starts if not isinstance(start, Broken)), default=None)


def _starts(ledger_of: Path | None, agent_id: str, trees: list[Path]) -> Iterator[datetime | Broken]:
    resolved = {os.path.realpath(tree) for tree in trees}
    roots = [ledger_of] if ledger_of else [root for tree in trees for root in ledger_roots(tree)]
    for root in dict.fromkeys(roots):
        for unit in all_units(ledger_directory(root)):
            if isinstance(unit, Broken):
                yield unit
            else:
                yield from map(_start, _attempts_of(unit, agent_id, resolved))


def _attempts_of(unit: Unit, agent_id: str, trees: set[str]) -> list[Attempt]:
    its_own = {agent_id, None} if os.path.realpath(unit.target_path) in trees else {agent_id}
    return [attempt for attempt in unit.active if attempt.worker_id in its_own]


def _start(attempt: Attempt) -> datetime | Broken:
    return attempt.started or Broken(f"attempt {attempt.id}: startedAt is not a UTC time")
