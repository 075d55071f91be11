"""Sweeping the steer inboxes for the parent; writing, reading and acknowledging one steer (docs/heartbeat.md#steer).

A slot has one steer: who writes, reads or acknowledges it has the slot to itself from the first look to the last.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path

import msgspec

from strawboss.heartbeat.authority import Claims, refusal
from strawboss.heartbeat.places import NoPlaceError, check_steer_directory, make_scratch
from strawboss.heartbeat.steer import Inbox, Steer, ack_content, read_inbox
from strawboss.heartbeat.steer_history import read_history
from strawboss.heartbeat.turn import turn_at
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


class Left(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`subagent:steer --json`: the steer as written; `replaced` is the id of the unread one it took the place of, or
    empty."""

    schema: str
    agent_id: str
    steer_id: str
    written_at: str
    expires_at: str
    writer_kind: str
    writer_id: str
    kind: str
    text: str
    replaced: str


def look(directory: Path, agents: tuple[str, ...], now: datetime) -> SteerReport:
    """Every inbox, or those of `agents`. A worktree in use without the directory means that nobody was steered."""
    try:
        check_steer_directory(directory)
        inboxes, errors = [read_inbox(directory, stem) for stem in _stems(directory, agents)], []
    except OSError as error:
        inboxes, errors = [], [f"{directory}: {error.strerror or error}"]
    except NoPlaceError as error:
        inboxes, errors = [], [str(error)]
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


def leave(directory: Path, steer: Steer, now: datetime) -> Steer | None:
    """Write a steer into its agent's slot; the unread one it took the place of. Raises OSError, or ValueError for a
    steer id that was used before."""
    path = make_scratch(directory) / f"{steer.agent_id}.json"
    with turn_at(path):
        slot, history = read_inbox(directory, steer.agent_id), read_history(directory, steer.agent_id)
        if history.was_used(steer.steer_id) or slot.names(steer.steer_id):
            raise ValueError(
                f"steer id {steer.steer_id} was used before; leave --steer-id out, or give another"
            )
        history.note(steer.steer_id, "written", now)
        write_json(path, steer.content())
    return slot.pending(now)


def collect(directory: Path, agent_id: str, claims: Claims, now: datetime) -> Delivered:
    """What the child may apply, as `deliver` says, and note that it has read it. Raises OSError."""
    if not directory.is_dir():
        return Delivered(Delivery.NO_INBOX)
    with turn_at(directory / f"{agent_id}.json"):
        found = deliver(read_inbox(directory, agent_id), claims, now)
        if found.delivery is Delivery.APPLIED and found.steer:
            read_history(directory, agent_id).note(found.steer.steer_id, "read", now)
    return found


def acknowledge(directory: Path, agent_id: str, steer_id: str, claims: Claims, now: datetime) -> str:
    """Say that a steer was applied: one that is to be applied, or was read before it expired.

    Empty when it is acknowledged, else why not. Raises OSError.
    """
    if not directory.is_dir():
        return Delivery.NO_INBOX.value
    with turn_at(directory / f"{agent_id}.json"):
        found = deliver(read_inbox(directory, agent_id), claims, now)
        if found.steer is None or found.steer.steer_id != steer_id:
            return found.reason or "it is not the one in the inbox"
        if found.delivery is Delivery.ALREADY_ACKED:
            return ""
        history = read_history(directory, agent_id)
        if found.delivery is Delivery.EXPIRED and not history.was_read(steer_id):
            return "it expired unread"
        write_json(directory / f"{agent_id}.ack.json", ack_content(found.steer, now))
        history.note(steer_id, "acked", now)
    return ""
