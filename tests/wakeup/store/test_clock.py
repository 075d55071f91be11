from __future__ import annotations

import subprocess
import sys
import time

import pytest

from strawboss.wakeup.store import checkout, clock, tasks
from strawboss.wakeup.store.checkout import Conflict, Lease
from strawboss.wakeup.store.clock import ahead_of_boot, boot_seconds, local_now
from strawboss.wakeup.store.database import Database, open_database
from strawboss.wakeup.store.tasks import NewTask

DAY = 86_400.0
# A process whose date was set `days` ahead, or back, before it opened the store.
JUMPED = """
import sys, time
real, days = time.time, float(sys.argv[1])
time.time = lambda: real() + days * 86400
from strawboss.cli.main import main
main(sys.argv[2:])
"""


def add(database: Database) -> str:
    with database.write() as connection:
        return tasks.add(connection, NewTask("a task", "boss"), database.now())


def take(database: Database, task: str, seconds: float = 60.0) -> Lease | Conflict:
    with database.write() as connection:
        return checkout.checkout(connection, task, "writer", [], "token", database.now(), seconds)


@pytest.mark.parametrize("days", [1.0, -1.0])
def test_a_date_that_was_set_frees_nobodys_lock(
    database: Database, monkeypatch: pytest.MonkeyPatch, days: float
) -> None:
    task, real = add(database), time.time
    assert isinstance(take(database, task), Lease)
    monkeypatch.setattr(time, "time", lambda: real() + days * DAY)
    assert isinstance(take(database, task), Conflict)


@pytest.mark.parametrize("days", [1, -1])
def test_a_process_that_sees_another_date_sees_the_same_locks(database: Database, days: int) -> None:
    task = add(database)
    assert isinstance(take(database, task), Lease)
    command = [sys.executable, "-c", JUMPED, str(days), "checkout", task]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout[:27]) == (1, "409: it is locked by writer")


def test_a_lock_runs_out_when_its_time_is_over(database: Database) -> None:
    task = add(database)
    assert isinstance(take(database, task, seconds=0.0), Lease)
    assert isinstance(take(database, task), Lease)


def test_all_who_open_a_file_in_one_boot_agree_on_the_time(
    light: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + DAY)
    other = open_database()
    assert abs(other.now() - light.now()) < 5
    other.close()


def test_after_a_restart_of_the_machine_the_time_is_set_anew(
    light: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "boot_id", lambda: "the next boot")
    monkeypatch.setattr(clock, "boot_seconds", lambda: 7.0)
    with light.write() as connection:
        ahead = ahead_of_boot(connection)
        assert ahead is not None
        assert abs(ahead + 7.0 - time.time()) < 5
        assert ahead_of_boot(connection) == ahead


def test_where_no_clock_counts_from_boot_the_date_has_to_do(
    light: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "boot_id", lambda: "")
    assert boot_seconds() is None
    with light.write() as connection:
        assert ahead_of_boot(connection) is None
    assert abs(local_now(None) - time.time()) < 5
    assert abs(local_now(12.0) - time.time()) < 5


def test_the_time_of_a_server_is_the_servers(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    database = open_database(postgres)
    before = database.now()
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert 0 <= database.now() - before < 30
    assert database.ahead is None
    database.close()
