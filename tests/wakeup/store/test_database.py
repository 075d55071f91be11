from __future__ import annotations

import sqlite3
import stat
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import event, make_url, text
from wakeup.postgres import statement

from strawboss.wakeup.store import tasks
from strawboss.wakeup.store.database import Database, open_database
from strawboss.wakeup.store.engines import interface, postgresql
from strawboss.wakeup.store.errors import StoreError
from strawboss.wakeup.store.tasks import NewTask

SECRET = "the secret words of a task"


def add(database: Database, title: str = SECRET) -> str:
    with database.write() as connection:
        return tasks.add(connection, NewTask(title, "boss"), time.time())


def titles(database: Database) -> list[str]:
    with database.read() as connection:
        return [task.title for task in tasks.listed(connection)]


def test_the_default_store_is_a_private_file_in_the_state_directory(home: Path) -> None:
    open_database().close()
    file = home / "state" / "store.sqlite"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_what_one_wrote_another_reads(database: Database, store_url: str) -> None:
    add(database)
    other = open_database(store_url)
    assert titles(other) == [SECRET]
    other.close()


def test_a_transaction_that_fails_leaves_nothing(database: Database) -> None:
    def fails() -> None:
        with database.write() as connection:
            tasks.add(connection, NewTask("half", "boss"), 0.0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert titles(database) == []


def test_the_clock_is_the_stores(database: Database) -> None:
    assert abs(database.now() - time.time()) < 5


@pytest.mark.parametrize("path", ["a b/st%re.sqlite", "odd?name#1/store.sqlite"])
def test_a_state_directory_may_have_any_name(home: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setenv("STRAWBOSS_STATE_DIR", str((home / path).parent))
    database = open_database()
    add(database)
    assert (home / path).parent.joinpath("store.sqlite").stat().st_size > 0
    database.close()


@pytest.mark.parametrize("url", ["", "nonsense", "mysql://host/db", "postgresql+none://h/d"])
def test_an_address_that_is_none_says_what_to_write(
    url: str, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    monkeypatch.setenv("STRAWBOSS_STORE", url)
    if not url:
        open_database().close()  # set and empty is not set
        return
    with pytest.raises(StoreError) as caught:
        open_database()
    assert "postgresql+psycopg://" in str(caught.value) or "no store" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_password_in_the_address_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql, "CONNECT_SECONDS", 1)
    with pytest.raises(StoreError) as caught:
        open_database("postgresql+psycopg://user:hunter2@127.0.0.1:1/none")
    assert "hunter2" not in str(caught.value)


def test_a_file_that_is_no_store_is_refused(home: Path) -> None:
    file = home / "notes.txt"
    file.write_text("these are my notes, not a database at all\n" * 200)
    before = file.read_bytes()
    with pytest.raises(StoreError, match="not a database"):
        open_database(f"sqlite:///{file}")
    assert file.read_bytes() == before


def test_a_directory_nobody_can_write_to_is_one_line(home: Path) -> None:
    (home / "state").write_text("a file where the directory should be")
    with pytest.raises(StoreError, match="state"):
        open_database()


def test_a_locked_store_is_unavailable_and_well_afterwards(
    database: Database, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interface, "BUSY_SECONDS", 0.05)
    impatient = open_database(store_url)
    with database.write() as connection:
        connection.execute(text("DELETE FROM tasks"))
        if connection.dialect.name == "postgresql":
            connection.execute(text("LOCK TABLE tasks IN ACCESS EXCLUSIVE MODE"))
        with pytest.raises(StoreError, match="lock") as caught:
            add(impatient)
    assert SECRET not in str(caught.value)
    add(impatient)
    assert titles(database) == [SECRET]
    impatient.close()


def add_many(database: Database) -> None:
    for _ in range(200):
        add(database, SECRET + "x" * 400)


class File:
    """What befalls a store that is a file."""

    def __init__(self, path: Path) -> None:
        self.path, self.url = path, f"sqlite:///{path}"

    def fill(self, database: Database) -> None:
        event.listen(database.engine, "checkout", lambda dbapi, *_: dbapi.execute("PRAGMA max_page_count=1"))

    def drain(self, database: Database) -> None:
        event.listen(
            database.engine, "checkout", lambda dbapi, *_: dbapi.execute("PRAGMA max_page_count=100000")
        )

    def vanish(self) -> None:
        self.path.rename(self.path.with_suffix(".away"))

    def come_back(self) -> None:
        self.path.with_suffix(".away").rename(self.path)


class Server:
    """What befalls a store on a server. Without room it takes no writer any more, as when it is read-only."""

    def __init__(self, address: str, name: str) -> None:
        self.address, self.name = address, name
        self.url = make_url(address).set(database=name).render_as_string(hide_password=False)

    def fill(self, database: Database) -> None:
        statement(self.address, f"ALTER DATABASE {self.name} SET default_transaction_read_only = on")
        database.close()  # new connections take the new setting

    def drain(self, database: Database) -> None:
        statement(self.address, f"ALTER DATABASE {self.name} RESET default_transaction_read_only")
        database.close()

    def vanish(self) -> None:
        statement(self.address, f"ALTER DATABASE {self.name} ALLOW_CONNECTIONS false")
        ends = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
        statement(self.address, f"{ends}'{self.name}'")

    def come_back(self) -> None:
        statement(self.address, f"ALTER DATABASE {self.name} ALLOW_CONNECTIONS true")


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, home: Path) -> Iterator[File | Server]:
    if request.param == "sqlite":
        yield File(home / "store.sqlite")
        return
    server, name = request.getfixturevalue("postgres"), f"test_{uuid.uuid4().hex[:12]}"
    statement(server, f"CREATE DATABASE {name}")
    yield Server(server, name)
    statement(server, f"DROP DATABASE {name} WITH (FORCE)")


def test_a_store_without_room_is_unavailable_keeps_what_it_had_and_is_well_afterwards(
    place: File | Server,
) -> None:
    database = open_database(place.url, create=True)
    add(database, "before")
    place.fill(database)
    with pytest.raises(StoreError, match=r"full|read-only") as caught:
        add_many(database)
    assert SECRET not in str(caught.value)
    assert titles(database)[0] == "before"
    place.drain(database)
    add(database, "after")
    assert titles(database)[-1] == "after"
    database.close()


def test_a_store_that_is_gone_is_unavailable_and_well_when_it_is_back(place: File | Server) -> None:
    database = open_database(place.url, create=True)
    add(database, "before")
    place.vanish()
    for _ in range(2):
        with pytest.raises(StoreError):
            add(database)
    place.come_back()
    add(database, "after")
    assert titles(database) == ["before", "after"]
    database.close()


def test_a_store_that_was_replaced_is_the_new_one_and_not_the_deleted_file(
    light: Database, home: Path
) -> None:
    add(light, "in the old file")
    file = home / "state" / "store.sqlite"
    fresh = home / "fresh.sqlite"
    with sqlite3.connect(file) as source, sqlite3.connect(fresh) as target:
        source.backup(target)
        target.execute("DELETE FROM tasks")
    source.close()
    target.close()
    for leftover in ("-wal", "-shm"):
        Path(f"{file}{leftover}").unlink(missing_ok=True)
    fresh.replace(file)
    add(light, "in the new file")
    assert titles(light) == ["in the new file"]
