from __future__ import annotations

from sqlalchemy import Connection

from strawboss.wakeup.store import heartbeats
from strawboss.wakeup.store.heartbeats import Heartbeat


def test_the_last_beat_of_each_agent_is_kept(connection: Connection) -> None:
    assert heartbeats.all_beats(connection) == {}
    heartbeats.begin(connection, "writer", "cycle-1", 1.0)
    heartbeats.begin(connection, "coder", "cycle-2", 2.0)
    assert heartbeats.beat(connection, "writer", "cycle-1", "reading a.md", 0.5, 3.0)
    assert heartbeats.all_beats(connection) == {
        "writer": Heartbeat("writer", "cycle-1", 3.0, 0.5, "reading a.md"),
        "coder": Heartbeat("coder", "cycle-2", 2.0, 0.0, "waking up"),
    }


def test_a_wake_up_that_another_has_followed_beats_no_more(connection: Connection) -> None:
    heartbeats.begin(connection, "writer", "cycle-1", 1.0)
    heartbeats.begin(connection, "writer", "cycle-2", 2.0)
    assert not heartbeats.beat(connection, "writer", "cycle-1", "still here", 0.0, 3.0)
    assert heartbeats.all_beats(connection)["writer"].cycle == "cycle-2"


def test_an_agent_that_never_woke_cannot_beat(connection: Connection) -> None:
    assert not heartbeats.beat(connection, "writer", "cycle-1", "hello", 0.0, 1.0)
