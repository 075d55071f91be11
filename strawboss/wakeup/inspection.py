"""Gathers the evidence on every agent: one pass over the records, five questions to the store."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from strawboss.heartbeat.record import examine
from strawboss.system.json_files import read_object
from strawboss.system.process_identity import liveness
from strawboss.wakeup.abandoned import own_place, place_of
from strawboss.wakeup.agents import Agent
from strawboss.wakeup.health import Beat, Broken, Finding, Health, Host, Witnesses, classify
from strawboss.wakeup.keep_alive import record_file
from strawboss.wakeup.store import budgets, cycles, heartbeats, hosts, tasks
from strawboss.wakeup.store.cycles import Cycle
from strawboss.wakeup.store.database import Database
from strawboss.wakeup.store.heartbeats import Heartbeat
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


@dataclass(frozen=True, slots=True)
class _Books:
    """What the store says of everybody, by agent (`watched`: by place), at one moment of its clock."""

    now: float
    latest: dict[str, Cycle]
    beats: dict[str, Heartbeat]
    held: dict[str | None, Task]
    used: dict[str, int]
    watched: dict[str, float]


def check_all(
    agents: Iterable[Agent], database: Database, timeout: float, since: float = math.inf
) -> list[Inspection]:
    """Look at all of them. Raises StoreError; what is wrong with one record is that agent's finding.

    `since` is how long (seconds) this machine has been awake: a silence is not counted from before that.
    """
    books = _read_books(database)
    return [_inspected(agent, books, timeout, since) for agent in agents]


def _read_books(database: Database) -> _Books:
    now = database.now()
    with database.read() as connection:
        held = {task.lock_holder: task for task in tasks.listed(connection, [Status.IN_PROGRESS])}
        return _Books(
            now,
            cycles.latest(connection),
            heartbeats.all_beats(connection),
            held,
            budgets.all_used(connection),
            hosts.watched_until(connection),
        )


def _inspected(agent: Agent, books: _Books, timeout: float, since: float) -> Inspection:
    cycle = books.latest.get(agent.name)
    if cycle is not None and cycle.ended_at is not None:
        cycle = None
    evidence = _evidence(agent, cycle, books, since)
    finding = classify(evidence, timeout)
    return Inspection(agent, evidence, finding, cycle, books.used.get(agent.name, 0))


def _evidence(agent: Agent, cycle: Cycle | None, books: _Books, since: float) -> Witnesses:
    beat = _latest_beat(read_beat(agent), books, agent, since)
    task = books.held.get(agent.name)
    name, locked = (task.id, (task.lock_expires_at or 0) > books.now) if task else (None, False)
    if cycle is None:
        return Witnesses(beat, None, task=name, locked=locked)
    awake = min(books.now - cycle.began_at, since)
    return Witnesses(beat, liveness(cycle.process), awake, name, locked, _host(cycle, books))


def _host(cycle: Cycle, books: _Books) -> Host:
    place = place_of(cycle)
    if place == own_place() or place not in books.watched:
        return Host.UNWATCHED
    return Host.WATCHED if books.watched[place] >= books.now else Host.GONE


def _latest_beat(
    filed: Beat | Broken | None, books: _Books, agent: Agent, since: float
) -> Beat | Broken | None:
    """The younger of the two: the file may be on another machine, the store may have been away."""
    over = books.latest.get(agent.name)
    over = over if over is not None and over.ended_at is not None else None
    beat = _younger(filed, _stored_beat(agent, books, ended=over is not None))
    if not isinstance(beat, Beat):
        return beat
    age, file_age = min(beat.age, since), min(beat.file_age, since)
    ended = beat.ended or (over is not None and beat.cycle == over.id)
    return replace(
        beat, ended=ended, age=age, file_age=file_age, quiet=min(beat.quiet, max(0.0, since - age))
    )


def _younger(filed: Beat | Broken | None, stored: Beat | None) -> Beat | Broken | None:
    if stored is None:
        return filed
    if isinstance(filed, Broken):
        return filed if stored.ended else stored
    return stored if filed is None or stored.age < filed.age else filed


def _stored_beat(agent: Agent, books: _Books, *, ended: bool) -> Beat | None:
    stored, cycle = books.beats.get(agent.name), books.latest.get(agent.name)
    if stored is None or cycle is None or (stored.at == cycle.began_at and not ended):
        return None  # a wake-up has begun and has not beaten yet
    age = books.now - stored.at
    return Beat(stored.at, age, age, stored.message, ended, stored.cycle, stored.quiet)


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
    extra = record.extra or {}
    cycle, quiet = extra.get("cycle"), extra.get("quiet")
    return Beat(
        record.at.timestamp(),
        record.age_seconds,
        file_age,
        record.last_message or "",
        record.is_terminal,
        cycle if isinstance(cycle, str) else None,
        float(quiet)
        if isinstance(quiet, (int, float)) and not isinstance(quiet, bool) and quiet > 0
        else 0.0,
    )
