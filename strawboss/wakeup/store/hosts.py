"""Which hosts are watched: each resident monitor holds a lease for the place whose processes it can see."""

from __future__ import annotations

from sqlalchemy import Connection, select, update

from strawboss.wakeup.store.insert import insert_if_absent
from strawboss.wakeup.store.schema import hosts


def renew(connection: Connection, place: str, host: str, until: float) -> None:
    """This place is watched, at least until then (the store's time)."""
    row = {"place": place, "host": host, "watched_until": until}
    if not insert_if_absent(connection, hosts, row):
        connection.execute(update(hosts).where(hosts.c.place == place).values(host=host, watched_until=until))


def watched_until(connection: Connection) -> dict[str, float]:
    """When the lease of each place ends or ended, by place; a place that never had a monitor is not in it."""
    return {row.place: row.watched_until for row in connection.execute(select(hosts))}
