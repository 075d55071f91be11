from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import update
from wakeup.identities import NOBODY

from strawboss.system.json_files import read_object
from strawboss.system.process_identity import identify
from strawboss.wakeup.agents import Agent
from strawboss.wakeup.keep_alive import KeepAlive, record_file
from strawboss.wakeup.store import budgets, checkout, cycles, heartbeats, schema, tasks
from strawboss.wakeup.store.checkout import Lease
from strawboss.wakeup.store.database import Database
from strawboss.wakeup.store.tasks import NewTask, Status
from strawboss.wakeup.tokens import Listener

WRITER = Agent("writer", id="agent-a1b2", budget=100)


@pytest.fixture
def keep_alive(light: Database) -> KeepAlive:
    WRITER.directory.mkdir(parents=True)
    with light.write() as connection:
        cycle = cycles.begin(connection, "writer", "here", NOBODY, None, light.now())
    return KeepAlive(WRITER, cycle.id, "parent-1", light, interval=0.0, timeout=60.0)


@pytest.fixture
def held(light: Database, keep_alive: KeepAlive) -> Lease:
    with light.write() as connection:
        task = tasks.add(connection, NewTask("a task", "boss"), light.now())
        got = checkout.checkout(connection, task, "writer", [], "cycle-1/x", light.now(), 1.0)
    assert isinstance(got, Lease)
    keep_alive.hold(got)
    return got


def test_a_beat_is_a_record_of_the_heartbeat_contract(keep_alive: KeepAlive, held: Lease) -> None:
    keep_alive.beat("implementing", "writing to report.md")
    record = read_object(record_file(WRITER))
    assert isinstance(record, dict)
    assert (record["agent_id"], record["parent_id"], record["phase"]) == (
        "agent-a1b2",
        "parent-1",
        "implementing",
    )
    assert (record["last_message"], record["terminal_state"]) == ("writing to report.md", None)
    assert record["extra"] == {"cycle": keep_alive.cycle, "task": held.task, "quiet": 0.0}


def test_a_task_of_many_words_is_told_in_one_line_that_a_record_may_carry(keep_alive: KeepAlive) -> None:
    keep_alive.record("implementing", "works on\n" + "a long task " * 40)
    record = read_object(record_file(WRITER))
    assert isinstance(record, dict)
    assert record["last_message"].startswith("works on a long task")
    assert len(record["last_message"]) == 200


def test_watching_beats_and_renews_the_lock_when_it_is_time(
    keep_alive: KeepAlive, held: Lease, light: Database
) -> None:
    keep_alive.interval = 1000
    assert keep_alive.watch(Listener(activity="reading a.md")) is None
    with light.read() as connection:
        renewed = tasks.find(connection, held.task).lock_expires_at
    assert renewed is not None
    assert renewed > time.time() + 50
    before = record_file(WRITER).stat().st_mtime_ns
    assert keep_alive.watch(Listener(activity="something else")) is None
    assert record_file(WRITER).stat().st_mtime_ns == before


def test_tokens_are_counted_once_and_an_empty_purse_stops_the_work(
    keep_alive: KeepAlive, held: Lease, light: Database
) -> None:
    assert keep_alive.watch(Listener(tokens=60)) is None
    assert keep_alive.watch(Listener(tokens=60)) is None
    assert keep_alive.watch(Listener(tokens=99)) is None
    assert keep_alive.watch(Listener(tokens=120)) == "the budget of writer ran out (120/100 tokens)"
    with light.read() as connection:
        assert budgets.used(connection, "writer") == 120


def test_a_model_that_has_said_its_last_word_is_not_stopped_for_its_budget(
    keep_alive: KeepAlive, held: Lease
) -> None:
    assert keep_alive.watch(Listener(tokens=500, finished=True)) is None


def test_the_tokens_of_a_second_task_are_counted_from_zero(
    keep_alive: KeepAlive, held: Lease, light: Database
) -> None:
    keep_alive.watch(Listener(tokens=30))
    keep_alive.hold(held)
    keep_alive.watch(Listener(tokens=20))
    with light.read() as connection:
        assert budgets.used(connection, "writer") == 50


def test_a_lost_lock_stops_the_work(keep_alive: KeepAlive, held: Lease, light: Database) -> None:
    with light.write() as connection:
        connection.execute(update(schema.tasks).values(lock_token="another"))
    assert keep_alive.watch(Listener()) == "the lock was lost: another has the task, or it has ended"


def test_a_task_that_the_agent_ended_itself_does_not_stop_it_and_one_that_another_ended_does(
    keep_alive: KeepAlive, held: Lease, light: Database
) -> None:
    with light.write() as connection:
        tasks.end(connection, held.task, Status.COMPLETE, "", by="writer", now=1.0)
    assert keep_alive.watch(Listener()) is None
    with light.write() as connection:
        connection.execute(update(schema.tasks).values(finished_by="boss"))
    assert keep_alive.watch(Listener()) is not None


def test_a_store_that_is_away_is_borne_until_the_lock_has_run_out(
    keep_alive: KeepAlive, held: Lease, home: Path
) -> None:
    file = home / "state" / "store.sqlite"
    file.rename(home / "away")
    assert keep_alive.watch(Listener(tokens=5)) is None
    keep_alive.timeout = 0.0
    keep_alive.hold(held)
    stopped = keep_alive.watch(Listener(tokens=5))
    assert stopped is not None
    assert "the lock has run out" in stopped
    (home / "away").rename(file)


def test_tokens_that_could_not_be_counted_are_counted_with_the_next(
    keep_alive: KeepAlive, held: Lease, home: Path, light: Database
) -> None:
    file = home / "state" / "store.sqlite"
    file.rename(home / "away")
    keep_alive.watch(Listener(tokens=5))
    (home / "away").rename(file)
    keep_alive.watch(Listener(tokens=7))
    with light.read() as connection:
        assert budgets.used(connection, "writer") == 7


def test_a_record_that_cannot_be_written_does_not_end_the_work(keep_alive: KeepAlive, held: Lease) -> None:
    (WRITER.directory / ".deft-scratch").write_text("a file in the way")
    assert keep_alive.watch(Listener()) is None


def test_a_workspace_that_is_not_there_does_not_come_into_being(
    light: Database, home: Path, until: Callable[..., object]
) -> None:
    keep_alive = KeepAlive(Agent("writer", workspace=str(home / "typo")), "cycle-1", "p", light, 1.0, 60.0)
    with pytest.raises(FileNotFoundError):
        keep_alive.beat("starting", "hello")
    assert not (home / "typo").exists()


def test_a_read_only_agent_beats_from_the_state_directory_and_leaves_its_workspace_alone(
    light: Database, home: Path
) -> None:
    (home / "desk").mkdir()
    agent = Agent("reader", scope="read-only", workspace=str(home / "desk"))
    KeepAlive(agent, "cycle-1", "p", light, 1.0, 60.0).record("starting", "hello")
    assert record_file(agent).is_relative_to(home / "state")
    assert isinstance(read_object(record_file(agent)), dict)
    assert list((home / "desk").iterdir()) == []


def test_a_beat_tells_how_long_the_command_has_shown_nothing_and_is_in_the_store_too(
    keep_alive: KeepAlive, held: Lease, light: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    command, real = identify(os.getpid()), time.monotonic
    monkeypatch.setattr("strawboss.wakeup.keep_alive.cpu_seconds", lambda *_: 0.0)
    keep_alive.attend(command)
    monkeypatch.setattr(time, "monotonic", lambda: real() + 30)
    keep_alive.watch(Listener(activity="reading a.md"))
    with light.read() as connection:
        beat = heartbeats.all_beats(connection)["writer"]
    record = read_object(record_file(WRITER))
    assert isinstance(record, dict)
    assert 30 <= beat.quiet < 60
    assert record["extra"]["quiet"] >= 30
    assert beat.message == record["last_message"] == "reading a.md"
    keep_alive.watch(Listener(activity="reading a.md", heard=5))
    assert keep_alive.quiet < 30


def test_what_may_be_quiet_is_never_counted_as_silent(
    light: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = time.monotonic
    keep_alive = KeepAlive(Agent("calm", quiet_ok=True), "cycle-1", "p", light, 1.0, 60.0)
    keep_alive.attend(identify(os.getpid()))
    monkeypatch.setattr(time, "monotonic", lambda: real() + 3000)
    assert keep_alive.quiet == 0.0


def test_after_a_renewal_that_failed_the_work_stops_when_the_lock_runs_out_and_not_a_beat_later(
    keep_alive: KeepAlive, held: Lease, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, real = home / "state" / "store.sqlite", time.monotonic
    file.rename(home / "away")
    assert keep_alive.watch(Listener()) is None
    keep_alive.interval, keep_alive._next = 1000.0, real() + 1000
    monkeypatch.setattr(time, "monotonic", lambda: real() + 59)
    assert keep_alive.watch(Listener()) is None
    monkeypatch.setattr(time, "monotonic", lambda: real() + 60)
    assert "the lock has run out" in (keep_alive.watch(Listener()) or "")
    (home / "away").rename(file)
