"""Many that fall silent at once: then rather what shows them is at fault (a full disk, a clock, a sleep) than each.

Nothing is decided here; the monitor flags the look, and whoever reads it looks again before taking anybody over.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from strawboss.heartbeat.record import Record
from strawboss.heartbeat.sweep import Sweep
from strawboss.heartbeat.writer import SLOWEST_CADENCE_SECONDS

FEWEST = 3


def silent_at_once(before: Sweep | None, now: Sweep) -> list[str]:
    """The agents that fell silent within one look, if they are three or more and most of those awake; else nobody.

    Without an earlier look these are the stale ones whose last beats lie within one cadence of each other.
    """
    running = {record.path: record for record in now.records if not record.has_ended}
    if before is None:
        awake, silent = len(running), _largest_group(running.values())
    else:
        heard = [record.path for record in before.records if not record.has_ended and not record.is_stale]
        awake, silent = (
            len(heard),
            [running[path] for path in heard if path in running and running[path].is_stale],
        )
    many = len(silent) >= FEWEST and len(silent) * 2 > awake
    return sorted(record.label for record in silent) if many else []


def _largest_group(records: Iterable[Record]) -> list[Record]:
    """Of the stale records the most that beat for the last time within one cadence."""
    stale = [(record.at, record) for record in records if record.is_stale and record.at]
    groups = (
        [other for at, other in stale if 0 <= _seconds(first, at) <= SLOWEST_CADENCE_SECONDS]
        for first, _ in stale
    )
    return max(groups, key=len, default=[])


def _seconds(first: datetime, then: datetime) -> float:
    return (then - first).total_seconds()
