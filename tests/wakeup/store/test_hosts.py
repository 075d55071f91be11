from __future__ import annotations

from sqlalchemy import Connection

from strawboss.wakeup.store import hosts


def test_the_lease_of_a_place_is_the_last_one_and_of_that_place_only(connection: Connection) -> None:
    assert hosts.watched_until(connection) == {}
    hosts.renew(connection, "boot-1/pid:1", "here", 10.0)
    hosts.renew(connection, "boot-2/pid:1", "there", 20.0)
    hosts.renew(connection, "boot-1/pid:1", "here", 30.0)
    assert hosts.watched_until(connection) == {"boot-1/pid:1": 30.0, "boot-2/pid:1": 20.0}
