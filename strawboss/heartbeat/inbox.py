"""Sweeping the steer inboxes for the parent, and reading and acknowledging one for the child (spec/2, #4286)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path

import msgspec

from strawboss.heartbeat.authority import Claims, refusal
from strawboss.heartbeat.steer import Inbox, Steer, ack_content, read_inbox
from strawboss.heartbeat.utc import age_text, format_utc
from strawboss.system.json_files import Broken, write_json

WORD = "STEER_PENDING"


class Pending(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An unread steer, without its text: that is for the child alone."""

    agent_id: str
    steer_id: str
    written_at: str
    expires_at: str
    writer_kind: str
    writer_id: str
    kind: str
    age_seconds: float
    path: str


class ParseFailure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    agent_id: str
    path: str
    reason: str


class SteerReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`verify:subagent-steer --json`. `redispatch_ok` is false always: an unread steer proves no death."""

    all_ok: bool
    steer_pending: bool
    redispatch_ok: bool
    pending_agents: list[str]
    pending: list[Pending]
    parse_failures: list[ParseFailure]
    ack_troubles: list[ParseFailure]
    sweep_errors: list[str]


def look(directory: Path, agents: tuple[str, ...], now: datetime) -> SteerReport:
    """Every inbox, or those of `agents`. A missing directory means that nobody was steered."""
    try:
        inboxes, errors = [read_inbox(directory, stem) for stem in _stems(directory, agents)], []
    except OSError as error:
        inboxes, errors = [], [f"{directory}: {error.strerror or error}"]
    pending = [_pending(inbox, steer, now) for inbox in inboxes if (steer := inbox.pending(now))]
    failures = [
        ParseFailure(inbox.agent_id, str(inbox.path), inbox.steer.reason)
        for inbox in inboxes
        if isinstance(inbox.steer, Broken)
    ]
    return SteerReport(
        all_ok=not (pending or failures or errors),
        steer_pending=bool(pending or failures),
        redispatch_ok=False,
        pending_agents=[item.agent_id for item in pending],
        pending=pending,
        parse_failures=failures,
        ack_troubles=[
            ParseFailure(each.agent_id, str(each.path), each.ack_trouble)
            for each in inboxes
            if each.ack_trouble
        ],
        sweep_errors=errors,
    )


def exit_code(report: SteerReport) -> int:
    if report.sweep_errors:
        return 2
    return 1 if report.steer_pending else 0


def failure_lines(report: SteerReport) -> list[str]:
    lines = [f"{WORD}: {len(report.pending)} unread, {len(report.parse_failures)} malformed"]
    lines += [f"  Malformed inbox {failure.path}: {failure.reason}" for failure in report.parse_failures]
    for item in report.pending:
        writer, age = f"{item.writer_kind}:{item.writer_id}", age_text(item.age_seconds)
        lines.append(f"  {item.agent_id} steer_id={item.steer_id} kind={item.kind} writer={writer} age={age}")
    return lines


def _stems(directory: Path, agents: tuple[str, ...]) -> list[str]:
    try:
        names = sorted(entry.name for entry in directory.iterdir() if not entry.is_dir())
    except FileNotFoundError:
        return []
    stems = [name.removesuffix(".json") for name in names if name.endswith(".json")]
    return [
        stem
        for stem in stems
        if stem and not stem.endswith((".ack", ".firstseen")) and (not agents or stem in agents)
    ]


def _pending(inbox: Inbox, steer: Steer, now: datetime) -> Pending:
    return Pending(
        steer.agent_id,
        steer.steer_id,
        format_utc(steer.written_at),
        format_utc(steer.expires_at),
        steer.writer_kind,
        steer.writer_id,
        steer.kind,
        (now - steer.written_at).total_seconds(),
        str(inbox.path),
    )


class Delivery(Enum):
    """What a child finds in its inbox."""

    APPLIED = "applied"
    NO_INBOX = "no-inbox"
    EXPIRED = "expired"
    ALREADY_ACKED = "already-acked"
    INVALID = "invalid"
    WRITER_REFUSED = "writer-refused"


@dataclass(frozen=True, slots=True)
class Delivered:
    delivery: Delivery
    steer: Steer | None = None
    reason: str = ""


class Letter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`subagent:inbox --json`: `delivery` says whether `steer` is to be applied."""

    delivery: str
    agent_id: str
    reason: str
    steer: dict[str, str] | None


def deliver(inbox: Inbox, claims: Claims, now: datetime) -> Delivered:
    """What the child may apply now. A steer of a writer without authority is not for applying, expired or not."""
    steer = inbox.steer
    if steer is None:
        return Delivered(Delivery.NO_INBOX)
    if isinstance(steer, Broken):
        return Delivered(Delivery.INVALID, reason=steer.reason)
    if reason := refusal(claims, steer.writer_kind, steer.writer_id):
        return Delivered(Delivery.WRITER_REFUSED, reason=reason)
    if inbox.acked:
        return Delivered(Delivery.ALREADY_ACKED, steer)
    if steer.expired(now):
        return Delivered(Delivery.EXPIRED, steer)
    return Delivered(Delivery.APPLIED, steer)


def acknowledge(directory: Path, steer: Steer, now: datetime) -> Path:
    """Say that a steer was read and applied; raises OSError."""
    path = directory / f"{steer.agent_id}.ack.json"
    write_json(path, ack_content(steer, now))
    return path
