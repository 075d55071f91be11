"""The store's clock, which does not jump: a lock must not run out because somebody set the date.

On a server it is the server's. On SQLite it is the boot clock, which goes on while the machine sleeps, moved by a number
that the store keeps for each boot, so that it reads like a date.
"""

from __future__ import annotations

import time

from sqlalchemy import Connection, select

from strawboss.system.process_identity import boot_id
from strawboss.wakeup.store.engines import kind_of
from strawboss.wakeup.store.insert import insert_if_absent
from strawboss.wakeup.store.schema import clocks


def boot_seconds() -> float | None:
    """Seconds since boot, sleep included; None where no clock with a name for its boot counts them."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.clock_gettime(clock) if clock is not None and boot_id() else None


def ahead_of_boot(connection: Connection) -> float | None:
    """What to add to `boot_seconds`: as the first to open the store in this boot has set it."""
    since_boot = boot_seconds()
    if since_boot is None or kind_of(connection).now(connection) is not None:
        return None
    insert_if_absent(connection, clocks, {"boot": boot_id(), "ahead": time.time() - since_boot})
    return float(connection.execute(select(clocks.c.ahead).where(clocks.c.boot == boot_id())).scalar_one())


def local_now(ahead: float | None) -> float:
    """The store's time on one machine, in epoch seconds."""
    since_boot = boot_seconds()
    return time.time() if ahead is None or since_boot is None else since_boot + ahead
