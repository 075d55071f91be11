from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from strawboss.wakeup.store import approvals, checkout, inbox, tasks
from strawboss.wakeup.store.approvals import Decision
from strawboss.wakeup.store.changes import announce, listening
from strawboss.wakeup.store.database import Database
from strawboss.wakeup.store.engines import postgresql
from strawboss.wakeup.store.errors import StoreError
from strawboss.wakeup.store.tasks import NewTask, Status

pytestmark = pytest.mark.slow

NOW = 1_700_000_000.0
LONG = 30.0


def task(connection: Connection, **wishes: object) -> str:
    return tasks.add(connection, NewTask("a task", "boss", **wishes), NOW)  # type: ignore[arg-type]


def an_open_task(connection: Connection) -> None:
    task(connection)


def a_task_for_the_agent(connection: Connection) -> None:
    task(connection, assignee="writer")


def a_message(connection: Connection) -> None:
    inbox.send(connection, "writer", "boss", "hello", NOW)


def a_released_task(connection: Connection) -> None:
    added = task(connection)
    checkout.checkout(connection, added, "coder", [], "token", NOW, 60)
    checkout.release(connection, added, "token")


def a_result_that_others_wait_for(connection: Connection) -> None:
    tasks.end(connection, task(connection), Status.COMPLETE, "", by="boss", now=NOW)


def a_blocked_task_opened(connection: Connection) -> None:
    added = task(connection)
    tasks.end(connection, added, Status.BLOCKED, "", by="boss", now=NOW)
    tasks.reopen(connection, added)


def a_decision(connection: Connection) -> None:
    asked = approvals.ask(connection, task(connection), "may it?", "writer", NOW)
    approvals.decide(connection, asked, Decision.APPROVED, "boss", "", NOW)


REASONS = [
    an_open_task, a_task_for_the_agent, a_message, a_released_task, a_result_that_others_wait_for,
    a_blocked_task_opened, a_decision,
]  # fmt: skip


@pytest.mark.parametrize("reason", REASONS)
def test_whatever_may_be_work_is_heard(database: Database, reason: Callable[[Connection], None]) -> None:
    with listening(database, "writer") as changed:
        with database.write() as connection:
            reason(connection)
        assert changed(LONG)


def test_it_is_heard_while_one_waits(database: Database) -> None:
    def write() -> None:
        with database.write() as connection:
            a_message(connection)

    with listening(database, "writer") as changed:
        later = threading.Timer(0.1, write)
        later.start()
        assert changed(LONG)
        later.join()


def test_nothing_is_heard_when_nothing_happens(database: Database) -> None:
    with listening(database, "writer") as changed:
        began = time.monotonic()
        assert not changed(0.3)
        assert time.monotonic() - began >= 0.3


def test_what_concerns_others_and_what_was_taken_back_is_not_heard_on_a_server(
    database: Database, store_url: str
) -> None:
    if store_url.startswith("sqlite"):
        pytest.skip("SQLite counts every change; the agent looks and finds nothing")
    with listening(database, "writer") as changed:
        with database.write() as connection:
            announce(connection, "coder")
        with database.write() as connection:
            a_message(connection)
            connection.rollback()
        assert not changed(0.3)


def test_stores_in_other_schemas_of_one_server_are_not_heard(database: Database, postgres: str) -> None:
    if database.engine.dialect.name == "sqlite":
        pytest.skip("a file is heard for itself")
    with listening(database, "writer") as changed:
        with database.write() as connection:
            connection.execute(text("SET LOCAL search_path = public"))
            announce(connection, None)
        assert not changed(0.3)


def test_a_server_that_goes_away_while_one_waits_is_an_error(database: Database) -> None:
    if database.engine.dialect.name == "sqlite":
        pytest.skip("a file does not hang up")
    ends = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = :query"

    def hang_up_and_wait() -> None:
        with listening(database, "writer") as changed:
            with database.write() as connection:
                channel = connection.execute(text(postgresql.LISTEN)).scalar_one()
                connection.execute(text(ends), {"query": f"LISTEN {channel}"})
            changed(LONG)

    with pytest.raises(StoreError):
        hang_up_and_wait()


def test_a_store_that_is_not_there_is_an_error(light: Database, home: Path) -> None:
    (home / "state" / "store.sqlite").rename(home / "away")
    light.close()
    with pytest.raises(StoreError), listening(light, "writer"):
        pass
    (home / "away").rename(home / "state" / "store.sqlite")
