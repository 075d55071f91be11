"""Messages between agents and people, read once."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, func, insert, select, update

from strawboss.wakeup.store.changes import announce
from strawboss.wakeup.store.schema import messages


@dataclass(frozen=True, slots=True)
class Message:
    id: int
    recipient: str
    sender: str
    task: str | None
    body: str
    sent_at: float
    read_at: float | None


def send(
    connection: Connection, recipient: str, sender: str, body: str, now: float, task: str | None = None
) -> None:
    """Put one message into an inbox."""
    connection.execute(
        insert(messages).values(recipient=recipient, sender=sender, task=task, body=body, sent_at=now)
    )
    announce(connection, recipient)


def newest(connection: Connection, recipient: str) -> int:
    """The number of the newest unread message of one recipient; 0 when there is none."""
    unread = (messages.c.recipient == recipient, messages.c.read_at.is_(None))
    return connection.execute(select(func.max(messages.c.id)).where(*unread)).scalar() or 0


def inbox(connection: Connection, recipient: str, *, unread_only: bool = True) -> list[Message]:
    """The messages of one recipient, oldest first. Reading them does not mark them."""
    chosen = select(messages).where(messages.c.recipient == recipient).order_by(messages.c.id)
    if unread_only:
        chosen = chosen.where(messages.c.read_at.is_(None))
    return [Message(**row) for row in connection.execute(chosen).mappings()]


def mark_read(connection: Connection, read: list[Message], now: float) -> None:
    """They have been acted on, or seen by a person."""
    chosen = update(messages).where(
        messages.c.id.in_([message.id for message in read]), messages.c.read_at.is_(None)
    )
    connection.execute(chosen.values(read_at=now))
