"""The few frames strawboss reads, and of them the few fields it needs. Everything else is skipped."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from strawboss.recovery.evidence import Peer

EXACT_SEND = "exact-send-v1"


class Registered(msgspec.Struct, frozen=True):
    session_id: str = msgspec.field(name="sessionId")
    features: tuple[str, ...] = ()


class Session(msgspec.Struct, frozen=True, rename="camel"):
    """`herdr_location`: only newer brokers say anything of it, and more than one shape is possible."""

    id: str
    pid: int | float
    status: str = ""
    name: str = ""
    endpoint_epoch: str | None = None
    herdr_location: Any | UnsetType = UNSET


class Sessions(msgspec.Struct, frozen=True):
    sessions: tuple[Session, ...]


class Delivered(msgspec.Struct, frozen=True):
    """`delivery`: None from brokers before 0.11, which do not tell a socket from a mailbox."""

    delivery: str | None = None


class DeliveryFailed(msgspec.Struct, frozen=True):
    reason: str = ""
    code: str = ""


class Endpoint(msgspec.Struct, frozen=True, rename="camel"):
    """The TCP broker's `broker.port.json`."""

    host: str
    port: int
    state_id: str


def peer(session: Session) -> Peer:
    """A pid that is no whole number belongs to no process, and 0 never equals one that does."""
    located = session.herdr_location is not UNSET
    return Peer(
        id=session.id,
        pid=int(session.pid) if session.pid == int(session.pid) else 0,
        status=session.status,
        epoch=session.endpoint_epoch or None,
        pane=_current_pane(session.herdr_location) if located else None,
        located=located,
        name=session.name,
    )


def _current_pane(location: Any) -> str | None:
    if not isinstance(location, dict) or location.get("status") != "current":
        return None
    pane = location.get("paneId")
    return pane if isinstance(pane, str) and pane else None
