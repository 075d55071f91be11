"""Gathers the evidence on every agent: one pass over the records, three questions to the store."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from strawboss.heartbeat.record import examine
from strawboss.system.json_files import read_object
from strawboss.wakeup.abandoned import process_of
from strawboss.wakeup.agents import Agent
from strawboss.wakeup.health import Beat, Broken, Finding, Health, Witnesses, classify
from strawboss.wakeup.keep_alive import record_file
from strawboss.wakeup.store import budgets, cycles, tasks
from strawboss.wakeup.store.cycles import Cycle
from strawboss.wakeup.store.database import Database
from strawboss.wakeup.store.tasks import Status, Task


@dataclass(frozen=True, slots=True)
class Inspection:
    """One agent at one look. `cycle` is its open wake-up; `used` tokens of its budget."""

    agent: Agent
    evidence: Witnesses
    finding: Finding
    cycle: Cycle | None
    used: int

    @property
    def beat(self) -> Beat | None:
        return self.evidence.beat if isinstance(self.evidence.beat, Beat) else None

    @property
    def needs_attention(self) -> bool:
        return self.finding.health not in (Health.HEALTHY, Health.IDLE)


def check_all(
    agents: Iterable[Agent], database: Database, timeout: float, since: float = math.inf
) -> list[Inspection]:
    """MonitorLook at all of them. Raises StoreError; what is wrong with one record is that agent's finding.

    `since` is how long (seconds) this machine has been awake: a silence is not counted from before that.
    """
    now = database.now()
    with database.read() as connection:
        latest = cycles.latest(connection)
        used = budgets.all_used(connection)
        held = {task.lock_holder: task for task in tasks.listed(connection, [Status.IN_PROGRESS])}
    inspections = []
    for agent in agents:
        cycle, task = latest.get(agent.name), held.get(agent.name)
        evidence = _evidence(agent, cycle, task, now, since)
        open_cycle = cycle if cycle is not None and cycle.ended_at is None else None
        finding = classify(evidence, timeout)
        inspections.append(Inspection(agent, evidence, finding, open_cycle, used.get(agent.name, 0)))
    return inspections


def _evidence(agent: Agent, cycle: Cycle | None, task: Task | None, now: float, since: float) -> Witnesses:
    beat = read_beat(agent)
    if isinstance(beat, Beat):
        over = cycle is not None and cycle.ended_at is not None and beat.cycle == cycle.id
        ended, age, file_age = beat.ended or over, min(beat.age, since), min(beat.file_age, since)
        beat = replace(beat, ended=ended, age=age, file_age=file_age)
    locked = task is not None and (task.lock_expires_at or 0) > now
    if cycle is None or cycle.ended_at is not None:
        return Witnesses(beat, None, task=task.id if task else None, locked=locked)
    awake = min(now - cycle.began_at, since)
    return Witnesses(beat, process_of(cycle), awake, task.id if task else None, locked)


def read_beat(agent: Agent) -> Beat | Broken | None:
    """The agent's heartbeat record as a witness; None when there is none."""
    path = record_file(agent)
    content = read_object(path)
    if content is None:
        return None
    record = examine(str(path), agent.slug, content, datetime.now(UTC), stale_after=math.inf)
    if record.failures or record.age_seconds is None or record.at is None:
        return Broken("; ".join(record.failures))
    try:
        file_age = time.time() - path.stat().st_mtime
    except OSError:
        return None
    cycle = (record.extra or {}).get("cycle")
    return Beat(
        record.at.timestamp(),
        record.age_seconds,
        file_age,
        record.last_message or "",
        record.is_terminal,
        cycle if isinstance(cycle, str) else None,
    )
