"""Opens the store, makes transactions, and turns every failure of an engine into one line."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, DisconnectionError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from strawboss.system.directories import state_directory
from strawboss.system.files import FILE_MODE, make_private_directory
from strawboss.wakeup.store.errors import StoreError
from strawboss.wakeup.store.migrations import migrate

# How long a statement waits for another process's transaction before the store counts as locked.
BUSY_SECONDS = 30.0
BETWEEN_SWITCHES = 0.01
CONNECT_SECONDS = 5
WRITES = "strawboss_writes"


@dataclass(frozen=True, slots=True)
class Database:
    """One open store. `read` and `write` give a connection inside a transaction; both raise StoreError."""

    engine: Engine

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with _transaction(self.engine) as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        with _transaction(self.engine.execution_options(**{WRITES: True})) as connection:
            yield connection

    def now(self) -> float:
        """The store's clock: on PostgreSQL the server's, so that machines agree on when a lock has expired."""
        if self.engine.dialect.name != "postgresql":
            return time.time()
        with self.read() as connection:
            return float(
                connection.execute(text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one()
            )

    def close(self) -> None:
        self.engine.dispose()


def open_database(url: str | None = None) -> Database:
    """Open `url`, else STRAWBOSS_STORE, else `store.sqlite` in the state directory, and bring it up to date.

    Raises StoreError when it cannot be reached, is not a store, or is newer than this program.
    """
    database = connect(url)
    try:
        with database.write() as connection:
            migrate(connection)
    except BaseException:
        database.close()
        raise
    return database


def connect(url: str | None = None) -> Database:
    """The same store as it is, of whatever age. Raises StoreError for an address that cannot be one."""
    where = url or os.environ.get("STRAWBOSS_STORE", "").strip()
    parsed = (
        _parsed(where) if where else URL.create("sqlite", database=str(state_directory() / "store.sqlite"))
    )
    return Database(_sqlite(parsed) if parsed.get_backend_name() == "sqlite" else _postgresql(parsed))


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError:
        parsed = None
    if parsed is None or parsed.get_backend_name() not in ("sqlite", "postgresql"):
        raise StoreError(
            "STRAWBOSS_STORE is no address of a store; write for example postgresql+psycopg://host/name"
        )
    return parsed


def _postgresql(url: URL) -> Engine:
    try:
        engine = create_engine(url, pool_pre_ping=True, connect_args={"connect_timeout": CONNECT_SECONDS})
    except (ImportError, NoSuchModuleError, TypeError):
        raise StoreError(
            "PostgreSQL needs its driver: pip install 'strawboss[postgres]', and postgresql+psycopg://"
        ) from None
    event.listen(engine, "connect", _wait_no_longer)
    return engine


def _wait_no_longer(connection: Any, _: object) -> None:
    # PostgreSQL waits for a lock for ever unless told otherwise; SQLite has its own limit.
    connection.execute(f"SET lock_timeout = {round(BUSY_SECONDS * 1000)}")
    connection.commit()


def _sqlite(url: URL) -> Engine:
    path = Path(url.database or "").absolute()
    try:
        make_private_directory(path.parent)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE))
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from None
    # mode=rw: a store that has vanished is an error and not a new, empty one.
    address = URL.create("sqlite", database=f"file:{_quoted(path)}", query={"mode": "rw", "uri": "true"})
    engine = create_engine(address, connect_args={"timeout": BUSY_SECONDS})
    _follow_the_file(engine, path)
    event.listen(engine, "begin", _begin)
    return engine


def _quoted(path: Path) -> str:
    return str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _follow_the_file(engine: Engine, path: Path) -> None:
    @event.listens_for(engine, "connect")
    def opened(connection: Any, record: Any) -> None:
        connection.isolation_level = None  # transactions are ours, see _begin
        _write_ahead(connection)
        connection.execute("PRAGMA synchronous=NORMAL")
        record.info["file"] = _file_id(path)

    @event.listens_for(engine, "checkout")
    def reused(connection: Any, record: Any, proxy: Any) -> None:  # noqa: ARG001 - SQLAlchemy gives three
        if record.info.get("file") != _file_id(path):
            raise DisconnectionError("the file was replaced")  # else we would write into a deleted file


def _write_ahead(connection: Any) -> None:
    # SQLite gives up at once, without its busy timeout, when two switch an empty store over at the same time.
    give_up = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(BETWEEN_SWITCHES)


def _file_id(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _begin(connection: Connection) -> None:
    # IMMEDIATE: take the write lock first, so that what a transaction has read is still so when it writes.
    writes = connection.get_execution_options().get(WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def _transaction(engine: Engine) -> Iterator[Connection]:
    try:
        with engine.begin() as connection:
            yield connection
    except (DBAPIError, DisconnectionError, PoolTimeout) as error:
        raise StoreError(_reason(error)) from error


def _reason(error: SQLAlchemyError) -> str:
    # The engine's own first line: no statement and no parameters, which hold what people wrote.
    original = getattr(error, "orig", None) or error
    return (str(original).strip().splitlines() or [type(original).__name__])[0]
