"""How an idle agent hears that there may be work for it: the server's notifications, or SQLite's change counter."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, text

from strawboss.wakeup.store.database import Database, driver_errors

# A glance at the counter costs some microseconds.
GLANCE_SECONDS = 0.25
# A channel is known in the whole database; stores in different schemas do not disturb each other.
NOTIFY = text("SELECT pg_notify('strawboss_' || current_schema(), :whom)")
LISTEN = "SELECT quote_ident('strawboss_' || current_schema())"

# Waits up to so many seconds; True when something may have changed.
Changed = Callable[[float], bool]


def announce(connection: Connection, whom: str | None) -> None:
    """Once this transaction is through, this agent, or everybody, has a reason to look. SQLite needs no telling."""
    if connection.dialect.name == "postgresql":
        connection.execute(NOTIFY, {"whom": whom or ""})


@contextmanager
def listening(database: Database, agent: str) -> Iterator[Changed]:
    """Hear of every change from now on. Raises StoreError, as does the waiting."""
    server = database.engine.dialect.name == "postgresql"
    with driver_errors(database):
        borrowed = database.engine.raw_connection()
    try:
        driver = borrowed.driver_connection
        borrowed.detach()  # a connection that listens is of no other use
        with driver_errors(database):
            yield _notified(driver, agent) if server else _counted(driver)
    finally:
        borrowed.close()


def _notified(driver: Any, agent: str) -> Changed:
    driver.rollback()
    driver.autocommit = True
    driver.execute(f"LISTEN {driver.execute(LISTEN).fetchone()[0]}")

    def changed(seconds: float) -> bool:
        return any(one.payload in ("", agent) for one in driver.notifies(timeout=seconds, stop_after=1))

    return changed


def _counted(driver: Any) -> Changed:
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
