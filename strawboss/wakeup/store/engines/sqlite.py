"""SQLite: a file on this machine, with nothing to set up."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, text
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import DisconnectionError

from strawboss.system.directories import state_directory
from strawboss.system.files import FILE_MODE, make_private_directory
from strawboss.wakeup.store.engines import interface
from strawboss.wakeup.store.engines.interface import Changed
from strawboss.wakeup.store.errors import StoreError

SERIAL = "INTEGER PRIMARY KEY"
BETWEEN_SWITCHES = 0.01
# A glance at the counter of changes costs some microseconds.
GLANCE_SECONDS = 0.25


def default_file() -> Path:
    """The store of whoever has named none."""
    return state_directory() / "store.sqlite"


def connect(url: URL, *, create: bool) -> Engine:
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
    engine = create_engine(address, connect_args={"timeout": interface.BUSY_SECONDS})
    _follow_the_file(engine, str(path))
    return engine


def where(url: URL) -> str:
    return unquote(str(url.database).removeprefix("file:"))


def insert(table: Table) -> sqlite.Insert:
    return sqlite.insert(table)


def now(_: Connection) -> None:
    return None


def begin(connection: Connection, *, writes: bool) -> None:
    # IMMEDIATE takes the write lock first. Sent by the driver itself, there being nothing in it to put together, and not
    # from an event of the engine: one listener makes SQLAlchemy ask for listeners at every step of every transaction.
    connection.connection.cursor().execute("BEGIN IMMEDIATE" if writes else "BEGIN")


def begin_migration(_: Connection) -> None:
    """BEGIN IMMEDIATE has already seen to it."""


def announce(connection: Connection, whom: str) -> None:
    """The counter of changes tells by itself."""


def listen(driver: Any, _: str) -> Changed:
    def count() -> int:
        return int(driver.execute("PRAGMA data_version").fetchone()[0])

    seen = count()

    def changed(seconds: float) -> bool:
        nonlocal seen
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, GLANCE_SECONDS))
            if (now := count()) != seen:
                seen = now
                return True
        return False

    return changed


def faults(connection: Connection) -> Iterator[str]:
    found = connection.execute(text("PRAGMA integrity_check")).scalars()
    yield from (f"SQLite: {line}" for line in found if line != "ok")


def _quoted(path: Path) -> str:
    return str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _follow_the_file(engine: Engine, path: str) -> None:
    @event.listens_for(engine, "connect")
    def opened(connection: Any, record: Any) -> None:
        connection.isolation_level = None  # transactions are ours, see `begin`
        _write_ahead(connection)
        connection.execute("PRAGMA synchronous=NORMAL")
        record.info["file"] = _file_id(path)

    @event.listens_for(engine, "checkout")
    def reused(connection: Any, record: Any, proxy: Any) -> None:  # noqa: ARG001 - SQLAlchemy gives three
        if record.info.get("file") != _file_id(path):
            raise DisconnectionError("the file was replaced")  # else we would write into a deleted file


def _write_ahead(connection: Any) -> None:
    # SQLite gives up at once, without its busy timeout, when two switch an empty store over at the same time.
    give_up = time.monotonic() + interface.BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(BETWEEN_SWITCHES)


def _file_id(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - at every transaction, and a Path takes thrice as long
    except OSError:
        return None
    return found.st_dev, found.st_ino
