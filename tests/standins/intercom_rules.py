"""What a pi-intercom broker answers, without its sockets: who is registered, where a message goes, what is queued.

Written from what the wire shows. Left out: the extension bus, `supersedes`, cancelling a message that has been
handed over, and everything that happens only after minutes or hours (records, mailboxes and asks never expire).
"""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

Frame = dict[str, Any]
Out = tuple[Hashable, Frame | None]  # None: the connection is to be closed
Locate = Callable[[Frame], Frame]  # from a registration to its `herdrLocation`

MAX_SESSIONS = 128
REGISTRATION = {
    "cwd": str,
    "model": str,
    "pid": (int, float),
    "startedAt": (int, float),
    "lastActivity": (int, float),
}
OPTIONAL = {"name": str, "status": str, "tmuxPane": str, "runtimeFallbackAlias": bool}
CONTEXT = ("contextPct", "contextTokens", "contextWindow")
RECEIPTS = {
    *("receiver_received", "queued", "injected", "acknowledged"),
    *("expired", "cancelled", "superseded", "cancellation_requested"),
}


class MalformedError(Exception):
    """A frame after which the broker hangs up without a word."""


@dataclass(slots=True)
class Session:
    connection: Hashable
    info: Frame
    scope: str
    registration: Frame

    @property
    def key(self) -> tuple[str, str]:
        return self.scope, self.info["id"]


@dataclass(slots=True)
class Mail:
    sender: Session
    target: Session
    message: Frame


@dataclass(slots=True)
class Rules:
    """`exact`: the broker is 0.11 or newer. `locate`: it is 0.14 or newer, and this is what herdr tells it."""

    exact: bool = True
    locate: Locate | None = None
    live: dict[tuple[str, str], Session] = field(default_factory=dict)
    gone: dict[tuple[str, str], Session] = field(default_factory=dict)
    mailbox: list[Mail] = field(default_factory=list)
    asks: dict[str, tuple[Session, Session]] = field(default_factory=dict)
    routes: dict[str, tuple[Session, Session]] = field(default_factory=dict)
    records: dict[tuple[str, str], tuple[Any, Frame]] = field(default_factory=dict)

    def receive(self, connection: Hashable, frame: Frame) -> list[Out]:
        """What goes out for one frame, in order. Raises MalformedError."""
        handler = getattr(self, f"_on_{frame['type']}", None)
        if frame["type"] == "health":
            return [(connection, _health(frame))]
        session = self.session_of(connection)
        if frame["type"] == "register":
            return self._register(connection, frame, session)
        if handler is None or session is None:
            raise MalformedError(f"{frame['type']} from {'a session' if session else 'nobody'}")
        return list(handler(session, frame))

    def session_of(self, connection: Hashable) -> Session | None:
        return next((session for session in self.live.values() if session.connection == connection), None)

    def left(self, connection: Hashable) -> list[Out]:
        """The connection is closed or its session has unregistered."""
        session = self.session_of(connection)
        if session is None:
            return []
        del self.live[session.key]
        self.gone[session.key] = session
        return self._to_peers(session, {"type": "session_left", "sessionId": session.info["id"]})

    # --- registering

    def _register(self, connection: Hashable, frame: Frame, already: Session | None) -> list[Out]:
        registration, wished = frame.get("session"), frame.get("sessionId", str(uuid.uuid4()))
        if already or not _is_registration(registration) or not isinstance(wished, str) or not wished.strip():
            raise MalformedError("register")
        session = Session(connection, self._info(wished, registration), _scope(frame), registration)
        previous = self.live.get(session.key)
        if previous is None and len(self.live) >= MAX_SESSIONS:
            return [
                (connection, {"type": "error", "error": "no room for another session"}),
                (connection, None),
            ]
        self.live[session.key] = session
        self.gone.pop(session.key, None)
        features = {"features": ["exact-send-v1"]} if self.exact else {}
        return [
            *([(previous.connection, None)] if previous else []),
            (connection, {"type": "registered", "sessionId": wished, **features}),
            *self._to_peers(session, {"type": "session_joined", "session": session.info}),
            *self._waiting_mail(session),
        ]

    def _info(self, session_id: str, registration: Frame) -> Frame:
        kept = {name: registration[name] for name in [*REGISTRATION, *OPTIONAL] if name in registration}
        epoch = {"endpointEpoch": str(uuid.uuid4())} if self.exact else {}
        pane = {"herdrPaneId": registration["herdrPaneId"]} if self._tells_pane(registration) else {}
        return {"id": session_id, **epoch, **kept, "trustedLocal": True, **pane}

    def _tells_pane(self, registration: Frame) -> bool:
        return self.locate is not None and "herdrPaneId" in registration

    def _waiting_mail(self, session: Session) -> Iterable[Out]:
        for mail in [mail for mail in self.mailbox if _takes_over(session, mail.target, self.live.values())]:
            self.mailbox.remove(mail)
            yield from self._hand_over(mail.sender, session, mail.message)

    def _on_unregister(self, session: Session, _: Frame) -> list[Out]:
        return self.left(session.connection)

    # --- the roster

    def _on_list(self, session: Session, frame: Frame) -> list[Out]:
        if not isinstance(frame.get("requestId"), str):
            raise MalformedError("list")
        sessions = [self._listed(one) for one in self._scope_of(session)]
        return [
            (session.connection, {"type": "sessions", "requestId": frame["requestId"], "sessions": sessions})
        ]

    def _listed(self, session: Session) -> Frame:
        return session.info | ({"herdrLocation": self.locate(session.registration)} if self.locate else {})

    def _on_presence(self, session: Session, frame: Frame) -> list[Out]:
        changes = {name: frame[name] for name in [*OPTIONAL, "model", *CONTEXT] if name in frame}
        session.info = {
            name: value for name, value in (session.info | changes).items() if value is not None
        } | {"lastActivity": _now()}
        return self._to_peers(session, {"type": "presence_update", "session": session.info})

    # --- messages

    def _on_send(self, session: Session, frame: Frame) -> list[Out]:
        message = frame.get("message")
        if not isinstance(frame.get("to"), str) or not _is_message(message):
            identity = message.get("id") if isinstance(message, dict) else None
            return [
                self._failed(session, identity if _is_message(message) else "unknown", "E_INVALID_MESSAGE")
            ]
        fingerprint = (frame["to"], message["content"], message.get("replyTo"))
        if (session.info["id"], message["id"]) in self.records:
            return [(session.connection, self._again(session, message["id"], fingerprint))]
        outs = self._deliver(session, frame, message)
        answer = next(out for connection, out in outs if connection == session.connection and _is_answer(out))
        if answer.get("code") not in {"E_INVALID_TARGET", "E_TARGET_REBOUND"}:
            self.records[session.info["id"], message["id"]] = fingerprint, answer
        return outs

    def _again(self, session: Session, message_id: str, fingerprint: Any) -> Frame:
        seen, answer = self.records[session.info["id"], message_id]
        return answer if seen == fingerprint else self._failed(session, message_id, "E_MESSAGE_ID_REUSE")[1]

    def _deliver(self, session: Session, frame: Frame, message: Frame) -> list[Out]:
        if self.exact and ("targetId" in frame or "targetEpoch" in frame):
            if obstacle := self._exact_obstacle(session, frame):
                return [self._failed(session, message["id"], obstacle)]
            targets = [self.live[session.scope, frame["targetId"]]]
        else:
            targets = _matching(frame["to"], self._scope_of(session))
        if len(targets) == 1:
            return self._to_live(session, targets[0], message)
        if targets:
            return [self._failed(session, message["id"], "E_AMBIGUOUS_TARGET")]
        return self._to_mailbox(session, frame["to"], message)

    def _exact_obstacle(self, session: Session, frame: Frame) -> str | None:
        wished = [frame.get("targetId"), frame.get("targetEpoch")]
        if not all(isinstance(part, str) and part for part in wished):
            return "E_INVALID_TARGET"
        target = self.live.get((session.scope, wished[0]))
        if target is None:
            return "E_TARGET_NOT_FOUND"
        return None if target.info["endpointEpoch"] == wished[1] else "E_TARGET_REBOUND"

    def _to_live(self, session: Session, target: Session, message: Frame) -> list[Out]:
        if "replyTo" in message and not self._is_reply(session, target, message["replyTo"]):
            return [self._failed(session, message["id"], "E_REPLY_TARGET")]
        if message.get("expectsReply"):
            if any(
                (asker.key, asked.key) == (target.key, session.key) for asker, asked in self.asks.values()
            ):
                return [self._failed(session, message["id"], "E_MUTUAL_ASK")]
            self.asks[message["id"]] = session, target
        self.asks.pop(message.get("replyTo", ""), None)
        delivered = self._succeeded(session, message["id"], "socket_delivered")
        return [*self._hand_over(session, target, message), delivered]

    def _is_reply(self, session: Session, target: Session, ask: str) -> bool:
        asker, asked = self.asks.get(ask, (None, None))
        return asker is not None and asked is not None and (asker.key, asked.key) == (target.key, session.key)

    def _hand_over(self, sender: Session, target: Session, message: Frame) -> list[Out]:
        self.routes[message["id"]] = sender, target
        stamped = message | {"brokerReceivedAt": _now(), "brokerDeliveredAt": _now()}
        return [(target.connection, {"type": "message", "from": sender.info, "message": stamped})]

    def _to_mailbox(self, session: Session, to: str, message: Frame) -> list[Out]:
        targets = _matching(to, [one for one in self.gone.values() if one.scope == session.scope])
        if len(targets) != 1:
            code = "E_AMBIGUOUS_TARGET" if targets else "E_TARGET_NOT_FOUND"
            return [self._failed(session, message["id"], code)]
        if message.get("expectsReply"):
            return [self._failed(session, message["id"], "E_TARGET_DISCONNECTED")]
        heir = next((one for one in self._scope_of(session) if _inherits(one, targets[0])), None)
        if heir and heir is not session:
            return self._to_live(session, heir, message)
        self.mailbox.append(Mail(session, targets[0], message))
        return [self._succeeded(session, message["id"], "queued")]

    def _on_message_receipt(self, session: Session, frame: Frame) -> list[Out]:
        receipt = frame.get("receipt")
        if (
            not isinstance(receipt, dict)
            or receipt.get("status") not in RECEIPTS
            or "timestamp" not in receipt
        ):
            raise MalformedError("message_receipt")
        sender, target = self.routes.get(receipt["messageId"], (None, None))
        if sender is None or target is not session or self.live.get(sender.key) is not sender:
            return []
        return [(sender.connection, {"type": "message_receipt", "from": session.info, "receipt": receipt})]

    def _on_cancel_ask(self, session: Session, frame: Frame) -> list[Out]:
        asker, _ = self.asks.get(frame.get("messageId", ""), (None, None))
        if asker is session:
            del self.asks[frame["messageId"]]
        return []

    def _succeeded(self, session: Session, message_id: str, delivery: str) -> Out:
        known = {"delivery": delivery, "retryable": False, "outcomeKnown": True} if self.exact else {}
        return session.connection, {"type": "delivered", "messageId": message_id, **known}

    def _failed(self, session: Session, message_id: str, code: str) -> Out:
        retryable = code == "E_TARGET_REBOUND"
        known = {"delivery": "failed", "code": code, "retryable": retryable, "outcomeKnown": True}
        reason = {"reason": f"not delivered ({code})"}
        frame = {
            "type": "delivery_failed",
            "messageId": message_id,
            **reason,
            **(known if self.exact else {}),
        }
        return session.connection, frame

    # --- who is who

    def _scope_of(self, session: Session) -> list[Session]:
        return [one for one in self.live.values() if one.scope == session.scope]

    def _to_peers(self, session: Session, frame: Frame) -> list[Out]:
        return [(one.connection, frame) for one in self._scope_of(session) if one is not session]


def _matching(to: str, sessions: Iterable[Session]) -> list[Session]:
    """By exact id, else by name in any case, else by the beginning of the id."""
    sessions = list(sessions)
    steps: tuple[Callable[[Session], bool], ...] = (
        lambda one: one.info["id"] == to,
        lambda one: one.info.get("name", "").lower() == to.lower(),
        lambda one: one.info["id"].startswith(to),
    )
    found = ([one for one in sessions if matches(one)] for matches in steps)
    return next(itertools.dropwhile(lambda hits: not hits, found), [])


def _takes_over(session: Session, gone: Session, live: Iterable[Session]) -> bool:
    """Mail goes to the same id, or to the only session of that explicit name in that directory."""
    if session.key == gone.key:
        return True
    return _inherits(session, gone) and sum(_inherits(one, gone) for one in live) == 1


def _inherits(session: Session, gone: Session) -> bool:
    named = session.info.get("name") and not session.info.get("runtimeFallbackAlias")
    same = [(one.scope, one.info.get("name"), one.info["cwd"]) for one in (session, gone)]
    return bool(named) and not gone.info.get("runtimeFallbackAlias") and same[0] == same[1]


def _health(frame: Frame) -> Frame:
    if not isinstance(frame.get("requestId"), str):
        raise MalformedError("health")
    return {"type": "health_ok", "requestId": frame["requestId"], "protocol": "pi-intercom", "version": 1}


def _scope(frame: Frame) -> str:
    scope = frame.get("scopeId", "")
    if not isinstance(scope, str):
        raise MalformedError("scopeId")
    return scope.strip()


def _is_registration(session: Any) -> bool:
    if not isinstance(session, dict):
        return False
    required = all(isinstance(session.get(name), kind) for name, kind in REGISTRATION.items())
    return required and all(
        isinstance(session[name], kind) for name, kind in OPTIONAL.items() if name in session
    )


def _is_message(message: Any) -> bool:
    if not isinstance(message, dict) or not isinstance(message.get("content"), dict):
        return False
    parts = (message.get("id"), message["content"].get("text"))
    return all(isinstance(part, str) for part in parts) and isinstance(message.get("timestamp"), (int, float))


def _is_answer(frame: Frame | None) -> bool:
    return frame is not None and frame["type"] in {"delivered", "delivery_failed"}


def _now() -> int:
    return int(time.time() * 1000)
