from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from wakeup.identities import ELSEWHERE, IN_A_CONTAINER, NOBODY

from strawboss.heartbeat.record import Beat as Record
from strawboss.system.json_files import write_json
from strawboss.system.process_identity import Liveness, ProcessIdentity, identify
from strawboss.wakeup.abandoned import host, place_of
from strawboss.wakeup.agents import Agent, Registry
from strawboss.wakeup.health import Beat, Broken, Health
from strawboss.wakeup.inspection import Inspection, check_all, read_beat
from strawboss.wakeup.keep_alive import record_file
from strawboss.wakeup.store import budgets, checkout, cycles, heartbeats, hosts, tasks
from strawboss.wakeup.store.database import Database
from strawboss.wakeup.store.tasks import NewTask

WRITER = Agent("writer", budget=100)


def beat(
    agent: Agent = WRITER, message: str = "at work", cycle: str = "", terminal: str | None = None
) -> None:
    phase = "terminal" if terminal else "implementing"
    content = Record(agent.slug, "p", phase, message, terminal, extra={"cycle": cycle}).content(
        datetime.now(UTC)
    )
    write_json(record_file(agent), content)


def begin(database: Database, process: ProcessIdentity | None, ago: float = 0.0) -> cycles.Cycle:
    assert process is not None
    with database.write() as connection:
        return cycles.begin(connection, "writer", host(), process, None, database.now() - ago)


def check(database: Database) -> Inspection:
    return check_all([WRITER], database, 180.0)[0]


def test_all_three_witnesses_are_heard(database: Database) -> None:
    cycle = begin(database, identify(os.getpid()))
    with database.write() as connection:
        task = tasks.add(connection, NewTask("a task", "boss"), database.now())
        checkout.checkout(connection, task, "writer", [], f"{cycle.id}/x", database.now(), 60)
        budgets.spend(connection, "writer", 23)
    beat(cycle=cycle.id)
    found = check(database)
    assert (found.finding.health, found.used, found.cycle) == (Health.HEALTHY, 23, cycle)
    assert (found.evidence.process, found.evidence.task, found.evidence.locked) == (Liveness.SAME, task, True)
    assert found.beat is not None
    assert (found.beat.message, found.beat.cycle) == ("at work", cycle.id)
    assert not found.needs_attention


def test_a_process_that_is_gone_is_dead_though_its_beat_is_fresh(light: Database) -> None:
    begin(light, NOBODY)
    beat()
    assert (check(light).finding.health, check(light).needs_attention) == (Health.DEAD, True)


@pytest.mark.parametrize("process", [ELSEWHERE, IN_A_CONTAINER])
def test_a_process_out_of_sight_is_judged_by_its_beat_in_the_store(
    light: Database, process: ProcessIdentity
) -> None:
    begin(light, process)
    found = check(light)
    assert (found.evidence.process, found.finding.why) == (Liveness.UNKNOWN, "it is starting")
    with light.write() as connection:
        heartbeats.beat(connection, "writer", found.cycle.id, "at work", 0.0, light.now())  # type: ignore[union-attr]
    assert check(light).finding.health is Health.IDLE


@pytest.mark.parametrize(
    ("lease_ends_in", "health", "why"),
    [
        (None, Health.UNKNOWN, "cannot be told"),
        (60, Health.STALLED, "exceeded"),
        (-1, Health.DEAD, "its host is gone"),
    ],
)
def test_the_lease_of_its_hosts_monitor_tells_a_silent_agent_from_a_host_that_is_gone(
    light: Database, lease_ends_in: float | None, health: Health, why: str
) -> None:
    cycle = begin(light, ELSEWHERE, ago=500)
    with light.write() as connection:
        heartbeats.beat(connection, "writer", cycle.id, "at work", 0.0, light.now() - 400)
    if lease_ends_in is not None:
        with light.write() as connection:
            hosts.renew(connection, place_of(cycle), "there", light.now() + lease_ends_in)
    found = check(light).finding
    assert (found.health, found.certain, why in found.why) == (health, False, True)


def test_the_younger_of_record_and_store_is_the_beat(light: Database) -> None:
    cycle = begin(light, identify(os.getpid()), ago=500)
    assert check(light).beat is None
    beat(message="from the file", cycle=cycle.id)
    assert check(light).beat.message == "from the file"  # type: ignore[union-attr]
    with light.write() as connection:
        heartbeats.beat(connection, "writer", cycle.id, "from the store", 7.0, light.now() + 2)
    found = check(light).beat
    assert found is not None
    assert (found.message, found.quiet) == ("from the store", 7.0)


def test_a_broken_record_of_one_who_beats_in_the_store_does_no_harm(light: Database) -> None:
    cycle = begin(light, identify(os.getpid()))
    with light.write() as connection:
        heartbeats.beat(connection, "writer", cycle.id, "at work", 0.0, light.now())
    beat()
    record_file(WRITER).write_bytes(b"{")
    assert check(light).finding.health is Health.IDLE


def test_an_old_file_of_an_agent_that_last_ran_elsewhere_is_no_stall(light: Database) -> None:
    beat(cycle="of last month")
    old = time.time() - 1e6
    content = record_file(WRITER).read_text()
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(old))
    record_file(WRITER).write_text(re.sub(r"2\d{3}-[0-9T:-]+Z", stamp, content))
    cycle = begin(light, ELSEWHERE)
    with light.write() as connection:
        cycles.end(connection, cycle.id, "ended", 1.0)
    assert check(light).finding.why == "its last wake-up has ended"


def test_a_wake_up_that_ended_in_order_is_no_stall_though_its_last_record_could_not_be_written(
    light: Database,
) -> None:
    cycle = begin(light, NOBODY)
    beat(cycle=cycle.id)
    with light.write() as connection:
        cycles.end(connection, cycle.id, "ended", 1.0)
    assert check(light).finding.why == "its last wake-up has ended"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"agent_id": "agent-writer"}', b"\x00" * 100])
def test_a_record_that_cannot_be_used_is_broken_and_never_missing(light: Database, content: bytes) -> None:
    beat()
    record_file(WRITER).write_bytes(content)
    found = read_beat(WRITER)
    assert isinstance(found, Broken)
    assert found.why
    assert check(light).finding.health is Health.UNKNOWN


def test_no_record_is_no_witness_and_a_record_tells_content_and_file_time(light: Database) -> None:
    assert read_beat(WRITER) is None
    beat(terminal="CLEAN")
    at = time.time() - 500
    os.utime(record_file(WRITER), (at, at))
    found = read_beat(WRITER)
    assert isinstance(found, Beat)
    assert found.ended
    assert found.age < 5
    assert 499 < found.file_age < 510


def test_every_agent_of_the_registry_is_in_the_answer_in_its_order(
    light: Database, enlist: Callable[..., Registry]
) -> None:
    registry = enlist(Agent("b"), Agent("a"), Agent("c"))
    assert [one.agent.name for one in check_all(registry.agents, light, 180.0)] == ["b", "a", "c"]
