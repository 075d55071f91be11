from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from strawboss.heartbeat.record import Beat as Record
from strawboss.system.json_files import write_json
from strawboss.system.process_identity import Liveness, ProcessIdentity, identify
from strawboss.wakeup.abandoned import host
from strawboss.wakeup.agents import Agent, Registry
from strawboss.wakeup.health import Beat, Broken, Health
from strawboss.wakeup.inspection import Inspection, check_all, read_beat
from strawboss.wakeup.keep_alive import record_file
from strawboss.wakeup.store import budgets, checkout, cycles, tasks
from strawboss.wakeup.store.database import Database
from strawboss.wakeup.store.tasks import NewTask

WRITER = Agent("writer", budget=100)
NOBODY = ProcessIdentity(2**22 - 1, 1.0, "")


def beat(
    agent: Agent = WRITER, message: str = "at work", cycle: str = "", terminal: str | None = None
) -> None:
    phase = "terminal" if terminal else "implementing"
    content = Record(agent.slug, "p", phase, message, terminal, extra={"cycle": cycle}).content(
        datetime.now(UTC)
    )
    write_json(record_file(agent), content)


def begin(database: Database, process: ProcessIdentity | None, where: str | None = None) -> cycles.Cycle:
    assert process is not None
    with database.write() as connection:
        return cycles.begin(connection, "writer", where or host(), process, None, database.now())


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


def test_a_process_on_another_machine_is_judged_by_its_beat_alone(light: Database) -> None:
    begin(light, NOBODY, "elsewhere")
    assert check(light).evidence.process is Liveness.UNKNOWN
    beat()
    assert check(light).finding.health is Health.IDLE


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
