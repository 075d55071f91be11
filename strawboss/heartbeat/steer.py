"""The parent's word to a child: one bounded message in a slot of its own, never among the heartbeats.

Source: docs/heartbeat.md#steer.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from strawboss.heartbeat.layout import SLUG_RULE, is_safe_slug
from strawboss.heartbeat.utc import format_utc, parse_contract_utc
from strawboss.system.json_files import Broken, read_object

STEER_SCHEMA = "deft.subagent.steer.v1"
ACK_SCHEMA = "deft.subagent.steer-ack.v1"
WRITER_KINDS = ("dispatching-parent", "occupancy-owner")
KINDS = ("constraint", "correction", "halt", "note")
LONGEST_TEXT = 2000
DEFAULT_TTL_SECONDS = 1800.0
STEER_FIELDS = (
    "schema", "agent_id", "steer_id", "written_at", "expires_at", "writer_kind", "writer_id", "kind", "text",
)  # fmt: skip
ACK_FIELDS = ("schema", "agent_id", "steer_id", "acked_at")


@dataclass(frozen=True, slots=True)
class Steer:
    """One parsed inbox. Expired at exactly `expires_at`."""

    agent_id: str
    steer_id: str
    written_at: datetime
    expires_at: datetime
    writer_kind: str
    writer_id: str
    kind: str
    text: str

    def expired(self, now: datetime) -> bool:
        return now >= self.expires_at

    def content(self) -> dict[str, Any]:
        return {
            "schema": STEER_SCHEMA,
            "agent_id": self.agent_id,
            "steer_id": self.steer_id,
            "written_at": format_utc(self.written_at),
            "expires_at": format_utc(self.expires_at),
            "writer_kind": self.writer_kind,
            "writer_id": self.writer_id,
            "kind": self.kind,
            "text": self.text,
        }


@dataclass(frozen=True, slots=True)
class Inbox:
    """One slot: `steer` is its content, broken content, or None when it is empty; `acked` means that very steer."""

    path: Path
    agent_id: str
    steer: Steer | Broken | None
    acked: bool
    ack_trouble: str = ""
    acked_id: object = None

    def names(self, steer_id: str) -> bool:
        """Whether the slot or its ack, whoever wrote them, already speaks of this id."""
        written = self.steer.steer_id if isinstance(self.steer, Steer) else None
        return steer_id in (written, self.acked_id)

    def pending(self, now: datetime) -> Steer | None:
        """The steer that waits to be read: it parses, has not expired and has no ack of its id."""
        if isinstance(self.steer, Steer) and not self.acked and not self.steer.expired(now):
            return self.steer
        return None


def compose(
    agent_id: str,
    *,
    writer_id: str,
    kind: str,
    text: str,
    now: datetime,
    writer_kind: str = WRITER_KINDS[0],
    steer_id: str | None = None,
    ttl_seconds: float = DEFAULT_TTL_SECONDS,
) -> Steer:
    """A new steer. Raises ValueError, in one line, for what the closed schema does not allow."""
    written = now.replace(microsecond=0)
    try:
        expires = written + timedelta(seconds=ttl_seconds)
    except OverflowError:
        raise ValueError(f"a lifetime of {ttl_seconds:g} seconds never ends; give for example 1800") from None
    steer = Steer(
        agent_id, steer_id or str(uuid.uuid4()), written, expires, writer_kind, writer_id, kind, text
    )
    for complaint in _complaints(steer.content(), agent_id):
        raise ValueError(complaint)
    return steer


def parse_steer(content: dict[str, Any] | Broken, stem: str) -> Steer | Broken:
    """Judge an inbox by the closed schema: a key of its own may carry what no reader has agreed to."""
    if isinstance(content, Broken):
        return content
    for complaint in _complaints(content, stem):
        return Broken(complaint)
    written, expires = (parse_contract_utc(content[name]) for name in ("written_at", "expires_at"))
    assert written is not None
    assert expires is not None
    names = ("writer_kind", "writer_id", "kind", "text")
    return Steer(stem, content["steer_id"], written, expires, *(content[name] for name in names))


def _complaints(content: dict[str, Any], stem: str) -> Iterator[str]:
    yield from _complaints_of_names(content, stem)
    yield from _complaints_of_times(content)
    for name in ("steer_id", "writer_id", "text"):
        if not _is_filled(content.get(name)):
            yield f"{name} is blank or no string"
    if _utf16_units(content.get("text")) > LONGEST_TEXT:
        yield f"text is longer than {LONGEST_TEXT} characters; a steer is no new dispatch envelope"


def _complaints_of_names(content: dict[str, Any], stem: str) -> Iterator[str]:
    if foreign := sorted(set(content) - set(STEER_FIELDS)):
        yield f"unknown keys {', '.join(map(repr, foreign))}; the schema is closed"
    if content.get("schema") != STEER_SCHEMA:
        yield f"schema is not {STEER_SCHEMA}"
    if content.get("agent_id") != stem or not is_safe_slug(stem):
        yield f"agent_id is not the file's safe name; use {SLUG_RULE}"
    for name, allowed in (("writer_kind", WRITER_KINDS), ("kind", KINDS)):
        if content.get(name) not in allowed:
            yield f"{name} is none of {', '.join(allowed)}"


def _complaints_of_times(content: dict[str, Any]) -> Iterator[str]:
    for name in ("written_at", "expires_at"):
        if parse_contract_utc(content.get(name)) is None:
            yield f"{name} is not ISO-8601 UTC such as 2026-09-09T12:00:00Z"


def _utf16_units(text: object) -> int:
    return len(text.encode("utf-16-le", "replace")) // 2 if isinstance(text, str) else 0


def _is_filled(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def read_inbox(directory: Path, agent_id: str) -> Inbox:
    """One agent's slot and its ack. A missing, broken or foreign ack means unread, and is mentioned."""
    path = directory / f"{agent_id}.json"
    content = read_object(path)
    steer = None if content is None else parse_steer(content, agent_id)
    ack = read_object(directory / f"{agent_id}.ack.json")
    trouble = _ack_trouble(ack, steer)
    acked_id = ack.get("steer_id") if isinstance(ack, dict) else None
    return Inbox(path, agent_id, steer, isinstance(steer, Steer) and trouble == "", trouble or "", acked_id)


def _ack_trouble(ack: dict[str, Any] | Broken | None, steer: Steer | Broken | None) -> str | None:
    """Empty for a matching ack, None when there is none for this steer, else why it does not count."""
    if ack is None or not isinstance(steer, Steer):
        return None
    if isinstance(ack, Broken):
        return f"its ack is {ack.reason}"
    if ack.get("schema") != ACK_SCHEMA:
        return f"its ack's schema is not {ACK_SCHEMA}"
    acked_at = parse_contract_utc(ack.get("acked_at"))
    if acked_at is None or ack.get("agent_id") != steer.agent_id or set(ack) != set(ACK_FIELDS):
        return f"its ack is not {', '.join(ACK_FIELDS)} of this agent, with a UTC time"
    if ack["steer_id"] != steer.steer_id:
        return None
    return "" if acked_at >= steer.written_at.replace(microsecond=0) else "its ack is older than the steer"


def ack_content(steer: Steer, now: datetime) -> dict[str, Any]:
    return {
        "schema": ACK_SCHEMA,
        "agent_id": steer.agent_id,
        "steer_id": steer.steer_id,
        "acked_at": format_utc(now),
    }
