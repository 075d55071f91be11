from __future__ import annotations

import threading
from pathlib import Path

import pytest
from sqlalchemy import Connection, inspect, text

from strawboss.wakeup.store import tasks
from strawboss.wakeup.store.database import Database, connect, open_database
from strawboss.wakeup.store.errors import StoreError
from strawboss.wakeup.store.migrations import MIGRATIONS, migrate, version
from strawboss.wakeup.store.schema import metadata
from strawboss.wakeup.store.tasks import Status

OLD_STORE = Path(__file__).resolve().parents[3] / "fixtures" / "wakeup" / "store-version-1.sql"


@pytest.fixture
def empty(store_url: str) -> Database:
    return connect(store_url)


def run_file(connection: Connection, path: Path) -> None:
    lines = [line for line in path.read_text().splitlines() if not line.startswith("--")]
    for statement in filter(str.strip, "\n".join(lines).split(";\n")):
        connection.execute(text(statement))


def test_all_steps_together_make_the_schema_that_the_program_uses(empty: Database) -> None:
    with empty.write() as connection:
        migrate(connection)
        found = inspect(connection)
        assert set(found.get_table_names()) == {*metadata.tables, "schema_version"}
        for name, table in metadata.tables.items():
            made = {column["name"]: column["nullable"] for column in found.get_columns(name)}
            assert set(made) == set(table.columns.keys()), name
            keys = table.primary_key.columns.keys()
            wanted = {column.name: column.nullable for column in table.columns if column.name not in keys}
            assert {name: nullable for name, nullable in made.items() if name not in keys} == wanted
            assert found.get_pk_constraint(name)["constrained_columns"] == keys
    empty.close()


@pytest.mark.parametrize("first", range(len(MIGRATIONS) + 1))
def test_a_store_of_any_version_becomes_one_of_today(empty: Database, first: int) -> None:
    with empty.write() as connection:
        migrate(connection, MIGRATIONS[:first])
        assert version(connection) == first
    with empty.write() as connection:
        migrate(connection)
        assert version(connection) == len(MIGRATIONS)
    empty.close()


def test_a_store_of_the_first_version_keeps_every_task_message_and_token(
    empty: Database, store_url: str
) -> None:
    with empty.write() as connection:
        migrate(connection, MIGRATIONS[:1])
        run_file(connection, OLD_STORE)
    empty.close()
    database = open_database(store_url)
    with database.read() as connection:
        found = {task.id: task for task in tasks.listed(connection)}
        counts = {name: connection.execute(table.select()).all() for name, table in metadata.tables.items()}
    database.close()
    assert found["task-00000002"].needs == ("task-00000001",)
    assert found["task-00000002"].capabilities == {"writing"}
    assert found["task-00000003"].status is Status.IN_PROGRESS
    assert found["task-00000003"].lock_token == "cycle-1/aa"
    assert {task.attempts for task in found.values()} == {0}
    expected = {
        "tasks": 3,
        "messages": 1,
        "approvals": 1,
        "budgets": 1,
        "cycles": 1,
        "events": 2,
        "actions": 0,
        "heartbeats": 1,
        "hosts": 0,
        "clocks": 0,
    }
    assert {name: len(counts[name]) for name in expected} | {"clocks": 0} == expected
    assert tuple(counts["heartbeats"][0]) == ("analyst", "cycle-1", 1700000002.0, 0.0, "")


def test_a_store_of_a_newer_version_is_left_alone(database: Database, store_url: str) -> None:
    with database.write() as connection:
        connection.execute(text("INSERT INTO schema_version (version) VALUES (99)"))
    with pytest.raises(StoreError, match="version 99"):
        open_database(store_url)


def test_a_step_that_fails_leaves_the_version_before_it(database: Database) -> None:
    broken = (*MIGRATIONS, ("CREATE TABLE half (id TEXT)", "CREATE TABLE half (id TEXT)"))

    def fails() -> None:
        with database.write() as connection:
            migrate(connection, broken)

    with pytest.raises(StoreError, match="half"):
        fails()
    with database.read() as connection:
        assert "half" not in inspect(connection).get_table_names()
        assert version(connection) == len(MIGRATIONS)


def opened_at_once(url: str) -> list[BaseException]:
    """What goes wrong for four that open that store at the same moment."""
    failures: list[BaseException] = []
    start = threading.Barrier(4)

    def opens() -> None:
        start.wait()
        try:
            open_database(url, create=True).close()
        except BaseException as error:
            failures.append(error)

    openers = [threading.Thread(target=opens) for _ in range(4)]
    for opener in openers:
        opener.start()
    for opener in openers:
        opener.join()
    return failures


def test_those_that_open_an_empty_store_at_once_all_find_it_whole(store_url: str) -> None:
    assert opened_at_once(store_url) == []


def test_those_that_make_the_same_file_a_store_at_once_wait_for_each_other(home: Path) -> None:
    stores = [f"sqlite:///{home / str(number)}.sqlite" for number in range(20)]
    assert [failure for store in stores for failure in opened_at_once(store)] == []
