from __future__ import annotations

from sqlalchemy import Connection

from strawboss.wakeup.store.inbox import inbox, mark_read, send


def bodies(connection: Connection, recipient: str, *, unread_only: bool = True) -> list[str]:
    return [message.body for message in inbox(connection, recipient, unread_only=unread_only)]


def test_messages_come_to_their_recipient_in_order(connection: Connection) -> None:
    send(connection, "writer", "boss", "one", 1.0)
    send(connection, "coder", "boss", "not yours", 2.0)
    send(connection, "writer", "coder", "two", 0.5, "task-1")
    assert bodies(connection, "writer") == ["one", "two"]
    second = inbox(connection, "writer")[1]
    assert (second.sender, second.task, second.sent_at, second.read_at) == ("coder", "task-1", 0.5, None)


def test_a_message_is_unread_until_it_is_marked_and_keeps_its_first_mark(connection: Connection) -> None:
    send(connection, "writer", "boss", "one", 1.0)
    seen = inbox(connection, "writer")
    assert bodies(connection, "writer") == ["one"]
    mark_read(connection, seen, 5.0)
    mark_read(connection, seen, 6.0)
    assert bodies(connection, "writer") == []
    assert [message.read_at for message in inbox(connection, "writer", unread_only=False)] == [5.0]


def test_a_message_that_came_in_between_stays_unread(connection: Connection) -> None:
    send(connection, "writer", "boss", "one", 1.0)
    seen = inbox(connection, "writer")
    send(connection, "writer", "boss", "two", 2.0)
    mark_read(connection, seen, 5.0)
    assert bodies(connection, "writer") == ["two"]
