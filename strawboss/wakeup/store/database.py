"""Opens the store, makes transactions, and turns every failure of an engine into one line."""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, DisconnectionError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from strawboss.system.directories import state_directory
from strawboss.system.files import FILE_MODE, make_private_directory
from strawboss.wakeup.store.clock import ahead_of_boot, local_now, server_now
from strawboss.wakeup.store.errors import StoreError
from strawboss.wakeup.store.migrations import migrate

# How long a statement waits for another process's transaction before the store counts as locked.
BUSY_SECONDS = 30.0
BETWEEN_SWITCHES = 0.01
CONNECT_SECONDS = 5
WRITES = "strawboss_writes"
# What the pool has to say of connections that broke is said by us, in one line.
logging.getLogger("sqlalchemy.pool").addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class Database:
    """One open store. `read` and `write` give a connection inside a transaction; both raise StoreError.

    `ahead` is what the store's clock adds to the boot clock (`clock`).
    """

    engine: Engine
    writer: Engine
    ahead: float | None = None

    def read(self) -> AbstractContextManager[Connection]:
        return _transaction(self.engine)

    def write(self) -> AbstractContextManager[Connection]:
        return _transaction(self.writer)

    def now(self) -> float:
        """The store's time in epoch seconds: all who share it agree on when a lock has run out, and it never jumps."""
        if self.engine.dialect.name != "postgresql":
            return local_now(self.ahead)
        with self.read() as connection:
            return server_now(connection)

    @property
    def where(self) -> str:
        """Its address as people may see it, without a password."""
        url = self.engine.url
        sqlite = url.get_backend_name() == "sqlite"
        return unquote(str(url.database).removeprefix("file:")) if sqlite else repr(url)

    def close(self) -> None:
        self.engine.dispose()


def open_database(url: str | None = None, *, create: bool = False) -> Database:
    """Open `url`, else STRAWBOSS_STORE, else `store.sqlite` in the state directory, and bring it up to date.

    Raises StoreError when it cannot be reached, is not a store, or is newer than this program; also when a file that
    somebody named is not there, unless told to `create` it: a mistyped path must not become a second, empty store.
    """
    database = connect(url, create=create)
    try:
        with database.write() as connection:
            migrate(connection)
            return replace(database, ahead=ahead_of_boot(connection))
    except BaseException:
        database.close()
        raise


def connect(url: str | None = None, *, create: bool = False) -> Database:
    """The same store as it is, of whatever age. Raises StoreError for an address that cannot be one."""
    where = url or os.environ.get("STRAWBOSS_STORE", "").strip()
    parsed = _parsed(where) if where else URL.create("sqlite", database=str(default_file()))
    sqlite = parsed.get_backend_name() == "sqlite"
    engine = _sqlite(parsed, create) if sqlite else _postgresql(parsed)
    return Database(engine, engine.execution_options(**{WRITES: True}))


def default_file() -> Path:
    """The store of whoever has named none."""
    return state_directory() / "store.sqlite"


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
        from strawboss.wakeup.store.patience import KEEPALIVE, Impatient

        engine = create_engine(
            url, pool_pre_ping=True, connect_args={"connect_timeout": CONNECT_SECONDS, **KEEPALIVE}
        )
    except (ImportError, NoSuchModuleError, TypeError):
        raise StoreError(
            "PostgreSQL needs its driver: pip install 'strawboss[postgres]', and postgresql+psycopg://"
        ) from None
    event.listen(engine, "do_connect", lambda *told: Impatient.connect(*told[2], **told[3]))
    event.listen(engine, "connect", _wait_no_longer)
    return engine


def _wait_no_longer(connection: Any, _: object) -> None:
    # PostgreSQL waits for a lock for ever unless told otherwise; SQLite has its own limit.
    connection.execute(f"SET lock_timeout = {round(BUSY_SECONDS * 1000)}")
    connection.commit()


def _sqlite(url: URL, create: bool) -> Engine:
    path = Path(url.database or "").absolute()
    own = path == default_file().absolute()
    try:
        if own:
            make_private_directory(path.parent)
        os.close(os.open(path, os.O_RDWR | (os.O_CREAT if own or create else 0), FILE_MODE))
    except FileNotFoundError:
        how = (
            "make its directory first" if create else "mend STRAWBOSS_STORE, or write: strawboss store create"
        )
        raise StoreError(f"{path}: there is no such file; {how}") from None
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


@contextmanager
def driver_errors(database: Database) -> Iterator[None]:
    """What goes wrong with a connection that is used without the engine's help is a StoreError too."""
    try:
        yield
    except (SQLAlchemyError, database.engine.dialect.loaded_dbapi.Error) as error:
        raise StoreError(_reason(error)) from error


def _reason(error: Exception) -> str:
    # The engine's own first line: no statement and no parameters, which hold what people wrote.
    original = getattr(error, "orig", None) or error
    return (str(original).strip().splitlines() or [type(original).__name__])[0]
