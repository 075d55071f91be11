from __future__ import annotations

import os
import subprocess
import sys

import pytest
from sqlalchemy import Connection, update
from wakeup.identities import ELSEWHERE, IN_A_CONTAINER, NOBODY

from strawboss.system.process_identity import Liveness, ProcessIdentity, identify, liveness
from strawboss.wakeup import abandoned
from strawboss.wakeup.abandoned import StillRunningError, close, host, recover
from strawboss.wakeup.processes import CYCLE_VARIABLE
from strawboss.wakeup.store import checkout, cycles, schema, tasks
from strawboss.wakeup.store.cycles import Cycle
from strawboss.wakeup.store.database import Database
from strawboss.wakeup.store.tasks import NewTask, Status

TIMEOUT = 60.0
PRESENT = identify(os.getpid())
assert PRESENT is not None


def begin(connection: Connection, process: ProcessIdentity, at: float = 1.0) -> Cycle:
    return cycles.begin(connection, "writer", host(), process, None, at)


def holding(connection: Connection, cycle: Cycle, now: float, seconds: float = 60) -> str:
    task = tasks.add(connection, NewTask("a task", "boss"), now)
    checkout.checkout(connection, task, "writer", [], f"{cycle.id}/x", now, seconds)
    return task


def test_a_wake_up_whose_process_is_gone_gives_back_its_task(database: Database) -> None:
    with database.write() as connection:
        cycle = begin(connection, NOBODY)
        task = holding(connection, cycle, database.now())
    assert [one.id for one in recover(database, "writer", TIMEOUT)] == [cycle.id]
    with database.read() as connection:
        assert tasks.find(connection, task).status is Status.OPEN
        assert cycles.latest(connection)["writer"].outcome == "abandoned"
    assert recover(database, "writer", TIMEOUT) == []


def test_a_wake_up_whose_process_lives_is_left_alone(light: Database) -> None:
    assert PRESENT is not None
    with light.write() as connection:
        begin(connection, PRESENT)
    with pytest.raises(StillRunningError, match="runs already"):
        recover(light, "writer", TIMEOUT)


def test_a_wake_up_that_cannot_be_judged_is_left_alone(
    light: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with light.write() as connection:
        begin(connection, NOBODY)
    monkeypatch.setattr(abandoned, "liveness", lambda identity: Liveness.UNKNOWN)
    with pytest.raises(StillRunningError, match="cannot be told"):
        recover(light, "writer", TIMEOUT)


@pytest.mark.parametrize("process", [ELSEWHERE, IN_A_CONTAINER])
def test_out_of_sight_it_may_still_run_while_it_holds_a_lock(
    light: Database, process: ProcessIdentity
) -> None:
    with light.write() as connection:
        cycle = begin(connection, process)
        holding(connection, cycle, light.now())
    with pytest.raises(StillRunningError, match=f"on {host()}"):
        recover(light, "writer", TIMEOUT)
    with light.write() as connection:
        connection.execute(update(schema.tasks).values(lock_expires_at=light.now() - 1))
    assert len(recover(light, "writer", TIMEOUT)) == 1


@pytest.mark.parametrize("process", [ELSEWHERE, IN_A_CONTAINER])
def test_out_of_sight_it_may_still_run_while_it_beats(light: Database, process: ProcessIdentity) -> None:
    with light.write() as connection:
        begin(connection, process, light.now() - TIMEOUT + 1)
    with pytest.raises(StillRunningError, match="cannot be told"):
        recover(light, "writer", TIMEOUT)
    assert len(recover(light, "writer", 0.1)) == 1


def test_what_is_out_of_sight_is_given_up_without_a_signal(light: Database) -> None:
    with light.write() as connection:
        cycle = begin(connection, IN_A_CONTAINER)
    command = subprocess.Popen(["sleep", "600"], env={**os.environ, CYCLE_VARIABLE: cycle.id})
    try:
        recover(light, "writer", TIMEOUT)
        assert command.poll() is None
    finally:
        command.kill()
        command.wait()


def test_a_command_that_outlived_its_cycle_is_ended_before_the_next_begins(light: Database) -> None:
    with light.write() as connection:
        cycle = begin(connection, NOBODY)
    command = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"], env={**os.environ, CYCLE_VARIABLE: cycle.id}
    )
    known = identify(command.pid)
    assert known is not None
    recover(light, "writer", TIMEOUT)
    assert liveness(known) is Liveness.GONE
    command.wait()


def test_a_command_that_cannot_be_ended_keeps_the_next_cycle_from_beginning(
    light: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with light.write() as connection:
        cycle = begin(connection, NOBODY)
        cycles.note_command(connection, cycle.id, NOBODY)
    monkeypatch.setattr(abandoned, "end_tree", lambda *_: False)
    with pytest.raises(StillRunningError, match=f"cannot be ended .pid {NOBODY.pid}"):
        recover(light, "writer", TIMEOUT)


def test_sub_tasks_of_a_stored_result_are_opened_and_others_are_forgotten(light: Database) -> None:
    with light.write() as connection:
        cycle = begin(connection, NOBODY)
        stored, lost = holding(connection, cycle, light.now()), holding(connection, cycle, light.now())
        for parent in (stored, lost):
            tasks.add(
                connection,
                NewTask(f"part of {parent}", "writer", parent=parent),
                1.0,
                Status.PLANNED,
                cycle.id,
            )
        tasks.finish(connection, stored, f"{cycle.id}/x", Status.COMPLETE, "", by="writer", now=1.0)
        assert [task.id for task in close(connection, cycle, "abandoned", light.now())] == [lost]
        found = {task.title: task.status for task in tasks.listed(connection)}
    assert found[f"part of {stored}"] is Status.OPEN
    assert f"part of {lost}" not in found


def test_a_lock_that_another_cycle_took_meanwhile_is_not_touched(light: Database) -> None:
    with light.write() as connection:
        old, new = begin(connection, NOBODY), begin(connection, NOBODY)
        task = holding(connection, new, light.now())
        assert close(connection, old, "abandoned", light.now()) == []
        assert tasks.find(connection, task).lock_token == f"{new.id}/x"
