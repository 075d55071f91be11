"""What strawboss asks the intercom broker: who is there, and one message to exactly one session.

Nobody may read the roster without standing in it, so each call registers, asks and is gone again.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any, TypeVar

import msgspec

from strawboss.intercom.address import Address
from strawboss.intercom.connection import Conversation, LostError, NobodyError, Timeouts, connect, shown
from strawboss.intercom.framing import Frame, FrameError
from strawboss.intercom.replies import EXACT_SEND, Delivered, DeliveryFailed, Registered, Sessions, peer
from strawboss.recovery.commands import Outcome, Result
from strawboss.recovery.evidence import Peer
from strawboss.recovery.verdict import Unknown

T = TypeVar("T")

NAME = "straw-boss"
RECEIPTS = ("receiver_received", "acknowledged", "injected")


class Intercom:
    """The broker at `address`, as seen from the launcher's directory and, where pi has one, its routing scope."""

    def __init__(
        self,
        address: Address,
        launcher_cwd: str,
        *,
        scope: str = "",
        timeouts: Timeouts | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._address, self._cwd, self._scope = address, launcher_cwd, scope
        self._timeouts, self._clock, self._wall = timeouts or Timeouts(), clock, wall
        # Registering an id in use throws its owner out, so it must be nobody else's, above all no pi session's.
        self._id = f"{NAME}-{uuid.uuid4()}"
        self._started = self._now()
        self._sent = 0

    def roster(self) -> tuple[Peer, ...] | Unknown:
        """Every session but this one; Unknown when one cannot be read or is there twice, absent where no broker runs."""
        request = str(uuid.uuid4())
        try:
            with self._registered() as (conversation, registered):
                conversation.say({"type": "list", "requestId": request})
                frame = conversation.hear(lambda f: f["type"] == "sessions" and f.get("requestId") == request)
                return _peers(_read(frame, Sessions), registered.session_id)
        except (FrameError, LostError) as error:
            return Unknown(str(error), absent=isinstance(error, NobodyError))

    def send(self, session_id: str, epoch: str | None, text: str) -> Result:
        """One message, tried once. UNKNOWN: it was on its way when the connection was lost.

        FAILED too when the broker put it into a mailbox: accepted is not delivered (R41).
        """
        message_id = str(uuid.uuid4())
        written = False
        try:
            with self._registered() as (conversation, registered):
                frame = self._send_frame(session_id, epoch if EXACT_SEND in registered.features else None)
                frame["message"] = self._message(message_id, text)
                written = True
                conversation.say(frame)
                return self._outcome(conversation, message_id)
        except FrameError as error:
            return Result(Outcome.FAILED, str(error))
        except LostError as error:
            return Result(Outcome.UNKNOWN if written else Outcome.FAILED, str(error))

    def _send_frame(self, session_id: str, epoch: str | None) -> dict[str, Any]:
        exact = {"targetId": session_id, "targetEpoch": epoch} if epoch else {}
        return {"type": "send", "to": session_id, **exact}

    def _message(self, message_id: str, text: str) -> dict[str, Any]:
        self._sent += 1
        return {
            "id": message_id,
            "timestamp": self._now(),
            "senderSequence": self._sent,
            "content": {"text": text},
        }

    def _outcome(self, conversation: Conversation, message_id: str) -> Result:
        reply = conversation.hear(lambda frame: _answers(frame, message_id))
        if reply["type"] == "delivery_failed":
            failed = _read(reply, DeliveryFailed)
            return Result(Outcome.FAILED, shown(failed.code or failed.reason))
        delivery = _read(reply, Delivered).delivery
        if delivery == "queued":
            return Result(Outcome.FAILED, "queued: the session is not connected")
        received = self._is_received(conversation, message_id)
        if delivery == "socket_delivered":
            return Result(Outcome.DONE, "" if received else "the session has not confirmed it yet")
        # A broker before 0.11 says the same of a mailbox; only a receipt tells.
        return (
            Result(Outcome.DONE)
            if received
            else Result(Outcome.UNKNOWN, "taken, and not confirmed by the session")
        )

    def _is_received(self, conversation: Conversation, message_id: str) -> bool:
        try:
            conversation.hear(lambda frame: _is_receipt(frame, message_id), within=self._timeouts.receipt)
        except LostError:
            return False
        return True

    @contextmanager
    def _registered(self) -> Iterator[tuple[Conversation, Registered]]:
        line = connect(self._address, self._timeouts.connect)
        with closing(line.socket):
            conversation = Conversation(line.socket, self._clock, self._timeouts.total)
            conversation.say(self._registration(line.secret))
            registered = _read(conversation.hear(lambda frame: frame["type"] == "registered"), Registered)
            try:
                yield conversation, registered
            finally:
                conversation.leave(self._timeouts.leave)

    def _registration(self, secret: str) -> Frame:
        session = {
            "name": NAME,
            "cwd": self._cwd,
            "model": "none",
            "pid": os.getpid(),
            "startedAt": self._started,
            "lastActivity": self._now(),
            "status": "idle",
        }
        optional = {"stateId": secret, "scopeId": self._scope}
        return {
            "type": "register",
            "sessionId": self._id,
            "session": session,
            **{name: value for name, value in optional.items() if value},
        }

    def _now(self) -> int:
        return int(self._wall() * 1000)


def _read(frame: Frame, shape: type[T]) -> T:
    try:
        return msgspec.convert(frame, shape)
    except msgspec.ValidationError as error:
        raise LostError(
            f"the intercom broker's {shown(frame['type'])} frame cannot be understood: {error}"
        ) from error


def _peers(roster: Sessions, own_id: str) -> tuple[Peer, ...] | Unknown:
    if len({session.id for session in roster.sessions}) < len(roster.sessions):
        return Unknown("the intercom broker lists one session twice")
    return tuple(peer(session) for session in roster.sessions if session.id != own_id)


def _answers(frame: Frame, message_id: str) -> bool:
    if frame["type"] == "delivery_failed":
        # What the broker cannot parse is refused under the id "unknown", and we send one message a connection.
        return frame.get("messageId") in (message_id, "unknown")
    return frame["type"] == "delivered" and frame.get("messageId") == message_id


def _is_receipt(frame: Frame, message_id: str) -> bool:
    receipt = frame.get("receipt")
    return (
        frame["type"] == "message_receipt"
        and isinstance(receipt, dict)
        and receipt.get("messageId") == message_id
        and receipt.get("status") in RECEIPTS
    )
