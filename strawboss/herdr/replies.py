"""herdr's replies, typed: unknown fields are ignored, optional ones may miss, a wrong type spoils the reply.

A list with one unreadable entry is unreadable as a whole: "this pane is gone" and "nothing else runs in it"
are read from what a list does not name.
"""

from __future__ import annotations

from typing import Annotated, TypeVar

import msgspec

NonEmpty = Annotated[str, msgspec.Meta(min_length=1)]
Pid = Annotated[int, msgspec.Meta(gt=0, lt=2**32)]


class Failure(msgspec.Struct):
    code: str
    message: str = ""


class Envelope(msgspec.Struct):
    id: str
    result: msgspec.Raw = msgspec.Raw(b"")
    error: Failure | None = None


class AgentSession(msgspec.Struct):
    source: str = ""
    agent: str = ""
    kind: str = ""
    value: str = ""


class PaneInfo(msgspec.Struct):
    pane_id: NonEmpty
    agent_status: str
    terminal_id: str | None = None
    agent: str | None = None
    agent_session: AgentSession | None = None


class PaneList(msgspec.Struct, tag_field="type", tag="pane_list"):
    panes: tuple[PaneInfo, ...]


class ForegroundProcess(msgspec.Struct):
    pid: Pid
    name: str | None = None
    argv0: str | None = None
    argv: tuple[str, ...] | None = None


class ProcessInfo(msgspec.Struct):
    pane_id: NonEmpty
    foreground_processes: tuple[ForegroundProcess, ...] = ()


class PaneProcessInfo(msgspec.Struct, tag_field="type", tag="pane_process_info"):
    process_info: ProcessInfo


class Pong(msgspec.Struct, tag_field="type", tag="pong"):
    version: str
    protocol: int


class NotificationShow(msgspec.Struct, tag_field="type", tag="notification_show"):
    shown: bool
    reason: str


class Ok(msgspec.Struct, tag_field="type", tag="ok"): ...


T = TypeVar("T")


class UnreadableError(Exception):
    """A reply that is not what herdr sends; the message says in what."""


def decode(data: bytes | msgspec.Raw, shape: type[T]) -> T:
    """Raises UnreadableError."""
    try:
        return msgspec.json.decode(bytes(data).decode(), type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableError(f"herdr's reply cannot be read: {error}") from error
