from __future__ import annotations

from sqlalchemy import Connection

from strawboss.wakeup.store.events import history, record


def test_the_history_is_the_last_events_oldest_first(connection: Connection) -> None:
    for number in range(5):
        record(connection, "writer", f"event {number}", "detail", 10.0 - number, cycle="c", task="t")
    assert [event.event for event in history(connection, 3)] == ["event 2", "event 3", "event 4"]
    last = history(connection, 1)[0]
    assert (last.at, last.agent, last.cycle, last.task, last.detail) == (6.0, "writer", "c", "t", "detail")


def test_the_history_of_one_agent_leaves_the_others_out(connection: Connection) -> None:
    record(connection, "writer", "one", "", 1.0)
    record(connection, "coder", "two", "", 2.0)
    assert [event.event for event in history(connection, 10, "writer")] == ["one"]
    assert history(connection, 10, "nobody") == []
