"""When a worker was dispatched, as the ledger of attempts knows it."""

from __future__ import annotations

from pathlib import Path

from strawboss.heartbeat.attempts.ledger import all_units, ledger_directory
from strawboss.heartbeat.classify import Dispatched
from strawboss.system.json_files import Broken


def dispatch_time(project_root: Path, agent_id: str) -> Dispatched:
    """The latest start among a worker's active attempts; None when there is none.

    A damaged unit may be the very one that says "just dispatched": then the answer is Broken, never None.
    """
    starts = []
    for unit in all_units(ledger_directory(project_root)):
        if isinstance(unit, Broken):
            return unit
        for attempt in unit.active:
            if attempt.worker_id == agent_id:
                starts.append(attempt.started or Broken(f"attempt {attempt.id}: startedAt is not a UTC time"))
    broken = next((start for start in starts if isinstance(start, Broken)), None)
    return broken or max((start for start in starts if not isinstance(start, Broken)), default=None)
