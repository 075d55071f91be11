"""Opens the store, makes transactions, and turns every failure of an engine into one line."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace

from sqlalchemy import URL, Connection, Engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, DisconnectionError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from strawboss.wakeup.store.clock import ahead_of_boot, local_now
from strawboss.wakeup.store.engines import KINDS, kind_of
from strawboss.wakeup.store.engines.sqlite import default_file
from strawboss.wakeup.store.errors import StoreError
from strawboss.wakeup.store.migrations import migrate

# What the pool has to say of connections that broke is said by us, in one line.
logging.getLogger("sqlalchemy.pool").addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class Database:
    """One open store. `read` and `write` give a connection inside a transaction; both raise StoreError.

    `ahead` is what the store's clock adds to the boot clock (`clock`).
    """

    engine: Engine
    ahead: float | None = None

    def read(self) -> AbstractContextManager[Connection]:
        return _transaction(self.engine, writes=False)

    def write(self) -> AbstractContextManager[Connection]:
        return _transaction(self.engine, writes=True)

    def now(self) -> float:
        """The store's time in epoch seconds: all who share it agree on when a lock has run out, and it never jumps."""
        if self.ahead is not None:
            return local_now(self.ahead)
        with self.read() as connection:
            shared = kind_of(connection).now(connection)
        return local_now(None) if shared is None else shared

    @property
    def where(self) -> str:
        """Its address as people may see it, without a password."""
        return kind_of(self.engine).where(self.engine.url)

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
    return Database(KINDS[parsed.get_backend_name()].connect(parsed, create=create))


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError:
        parsed = None
    if parsed is None or parsed.get_backend_name() not in KINDS:
        raise StoreError(
            "STRAWBOSS_STORE is no address of a store; write for example postgresql+psycopg://host/name"
        )
    return parsed


@contextmanager
def _transaction(engine: Engine, *, writes: bool) -> Iterator[Connection]:
    try:
        with engine.begin() as connection:
            kind_of(engine).begin(connection, writes=writes)
            yield connection
    except (DBAPIError, DisconnectionError, PoolTimeout, engine.dialect.loaded_dbapi.Error) as error:
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
