"""How an idle agent hears that there may be work for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection

from strawboss.wakeup.store.database import Database, driver_errors
from strawboss.wakeup.store.engines import kind_of
from strawboss.wakeup.store.engines.interface import Changed


def announce(connection: Connection, whom: str | None) -> None:
    """Once this transaction is through, this agent, or everybody, has a reason to look."""
    kind_of(connection).announce(connection, whom or "")


@contextmanager
def listening(database: Database, agent: str) -> Iterator[Changed]:
    """Hear of every change from now on. Raises StoreError, as does the waiting."""
    with driver_errors(database):
        borrowed = database.engine.raw_connection()
    try:
        driver = borrowed.driver_connection
        borrowed.detach()  # a connection that listens is of no other use
        with driver_errors(database):
            yield kind_of(database.engine).listen(driver, agent)
    finally:
        borrowed.close()
