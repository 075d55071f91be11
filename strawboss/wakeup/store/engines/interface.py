"""What the store must know of a database, beside what SQLAlchemy says of all of them alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from sqlalchemy import URL, Connection, Engine, Table
from sqlalchemy.dialects import postgresql, sqlite

# How long a statement waits for another process's transaction before the store counts as locked.
BUSY_SECONDS = 30.0

Insert = sqlite.Insert | postgresql.Insert
# Waits up to so many seconds; True when something may have changed.
Changed = Callable[[float], bool]


class Kind(Protocol):
    """One of the modules beside this one. `SERIAL`: how a column that numbers its rows is declared."""

    SERIAL: str

    def connect(self, url: URL, *, create: bool) -> Engine:
        """Raises StoreError for what cannot be a store. `create`: a file that is not there may be made."""

    def where(self, url: URL) -> str:
        """Its address as people may see it, without a password."""

    def insert(self, table: Table) -> Insert:
        """An insert that can be told to do nothing where the key is taken."""

    def now(self, connection: Connection) -> float | None:
        """The clock of all who share it, in epoch seconds; None where they share a machine and its clock."""

    def begin(self, connection: Connection, *, writes: bool) -> None:
        """The first thing of a transaction. What one that `writes` has read is still so when it writes."""

    def begin_migration(self, connection: Connection) -> None:
        """Nobody else changes the tables until the end of the transaction."""

    def announce(self, connection: Connection, whom: str) -> None:
        """Once the transaction is through, whoever listens for that agent, or for "" everybody, hears of it."""

    def listen(self, driver: Any, agent: str) -> Changed:
        """Hear of every change from now on, over a connection that is of no other use."""

    def faults(self, connection: Connection) -> Iterator[str]:
        """What the database itself finds broken in its files, one line each."""
