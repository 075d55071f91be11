"""One heartbeat record: the contract's schema as a reader judges it and as a writer fills it in.

Source: docs/heartbeat.md#the-record.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from strawboss.heartbeat.layout import SLUG_RULE, is_safe_slug
from strawboss.heartbeat.utc import format_utc, parse_contract_utc, parse_utc
from strawboss.system.json_files import Broken

PHASES = ("starting", "implementing", "validating", "committing", "pushing", "polling", "fixing", "terminal")
WAIT_KINDS = ("pr:watch", "fix-batch", "reading", "idle", "unknown")
TERMINAL_STATES = ("CLEAN", "ERRORED", "TIMEOUT", "STALL", "FAILED", "BLOCKED")
REQUIRED_FIELDS = ("agent_id", "parent_id", "last_heartbeat_at", "last_message", "phase")
# What a writer may write, and what a reader still takes for the "about 200 characters" of the contract.
LONGEST_MESSAGE = 200
LONGEST_SOUND_MESSAGE = 250
STALE_AFTER_SECONDS = 30 * 60.0
# Clocks of one machine agree; of two, nearly. Further ahead the record would stay "fresh" for ever.
FUTURE_SECONDS = 120.0


class Record(msgspec.Struct, frozen=True):
    """What one file says and all that is wrong with it. Fields that cannot be understood are None.

    `age_seconds` is against the one `now` of the sweep; `at` the parsed time, `last_heartbeat_at` the text as found.
    """

    path: str
    stem: str
    failures: tuple[str, ...]
    is_stale: bool = False
    is_terminal: bool = False
    age_seconds: float | None = None
    at: datetime | None = None
    agent_id: str | None = None
    parent_id: str | None = None
    incarnation: str | None = None
    last_heartbeat_at: str | None = None
    last_message: str | None = None
    phase: str | None = None
    terminal_state: str | None = None
    pr_number: int | None = None
    wait_kind: str | None = None
    head_sha: str | None = None
    pid: int | None = None
    extra: dict[str, Any] | None = None

    @property
    def ok(self) -> bool:
        return not self.failures and not self.is_stale

    @property
    def has_ended(self) -> bool:
        """Whether its writer said its last word, well-formed or not: no later beat may take that back."""
        return self.is_terminal or self.phase == "terminal"

    def claims(self, agent_id: str) -> bool:
        """Whether it speaks of that agent, by what it says or by its file's name."""
        return agent_id in (self.agent_id, self.stem)

    @property
    def label(self) -> str:
        """The name to show: the one it claims, else the one of its file."""
        return self.agent_id or self.stem


def examine(
    path: str, stem: str, content: dict[str, Any] | Broken, now: datetime, stale_after: float
) -> Record:
    """Judge one file's content. Stale is strictly older than `stale_after` seconds with a null `terminal_state`."""
    if isinstance(content, Broken):
        return Record(path, stem, (content.reason,))
    claimed = content.get("last_heartbeat_at")
    at = parse_utc(claimed) if isinstance(claimed, str) else None
    age = (now - at).total_seconds() if at else None
    terminal_state = _text(content, "terminal_state") or None
    return Record(
        path,
        stem,
        tuple(_failures(content, stem, age, terminal_state)),
        is_stale=age is not None and age > stale_after and content.get("terminal_state") is None,
        is_terminal=terminal_state is not None,
        age_seconds=age,
        at=at,
        agent_id=_text(content, "agent_id"),
        parent_id=_text(content, "parent_id"),
        incarnation=_text(content, "incarnation"),
        last_heartbeat_at=_text(content, "last_heartbeat_at"),
        last_message=_text(content, "last_message"),
        phase=_text(content, "phase"),
        terminal_state=terminal_state,
        pr_number=_number(content, "pr_number"),
        wait_kind=_text(content, "wait_kind"),
        head_sha=(_text(content, "head_sha") or "").strip() or None,
        pid=_number(content, "pid"),
        extra=content["extra"] if isinstance(content.get("extra"), dict) else None,
    )


def _failures(
    content: dict[str, Any], stem: str, age: float | None, terminal_state: str | None
) -> Iterator[str]:
    if missing := [name for name in REQUIRED_FIELDS if name not in content]:
        yield f"missing {', '.join(missing)}"
    if foreign := [
        name for name in REQUIRED_FIELDS if name in content and not isinstance(content[name], str)
    ]:
        yield f"not a string: {', '.join(foreign)}"
    yield from _text_failures(content)
    if "wait_kind" in content and content["wait_kind"] not in WAIT_KINDS:
        yield f"unknown wait_kind {_shown(content['wait_kind'])}; one of {', '.join(WAIT_KINDS)}"
    if not _head_sha_fits(content.get("head_sha")):
        yield "head_sha is neither null nor a non-empty string"
    yield from _optional_failures(content)
    if isinstance(agent_id := content.get("agent_id"), str) and agent_id != stem:
        yield f"agent_id mismatch: the record says {_shown(agent_id)}, the file name {_shown(stem)}"
    yield from _time_failures(content.get("last_heartbeat_at"), age)
    if isinstance(phase := content.get("phase"), str) and phase not in PHASES:
        yield f"unknown phase {_shown(phase)}; one of {', '.join(PHASES)}"
    if content.get("phase") == "terminal" and terminal_state is None:
        yield "phase terminal without a terminal_state"


def _text_failures(content: dict[str, Any]) -> Iterator[str]:
    parent, message = _text(content, "parent_id"), _text(content, "last_message") or ""
    if parent is not None and not parent.strip():
        yield "parent_id is empty"
    if complaint := _message_complaint(message, LONGEST_SOUND_MESSAGE):
        yield f"last_message {complaint}"


def _message_complaint(message: str, longest: int) -> str:
    if message.splitlines() not in ([], [message]):
        return "is more than one line"
    return (
        f"has {len(message)} characters; about {LONGEST_MESSAGE} are allowed"
        if len(message) > longest
        else ""
    )


def _optional_failures(content: dict[str, Any]) -> Iterator[str]:
    state, incarnation = content.get("terminal_state"), content.get("incarnation")
    if state is not None and state not in TERMINAL_STATES:
        yield f"unknown terminal_state {_shown(state)}; null or one of {', '.join(TERMINAL_STATES)}"
    for name in ("pr_number", "pid"):
        if content.get(name) is not None and _number(content, name) is None:
            yield f"{name} {_shown(content[name])} is neither null nor an integer above zero"
    if incarnation is not None and not isinstance(incarnation, str):
        yield f"incarnation {_shown(incarnation)} is neither null nor a string"
    if "extra" in content and not isinstance(content["extra"], dict):
        yield "extra is not an object"


def _time_failures(claimed: object, age: float | None) -> Iterator[str]:
    if isinstance(claimed, str) and parse_contract_utc(claimed) is None:
        yield f"last_heartbeat_at {_shown(claimed)} is not ISO-8601 UTC such as 2026-05-28T18:47:50Z"
    if age is not None and age < -FUTURE_SECONDS:
        yield f"last_heartbeat_at is {-age:.0f} seconds in the future"


def _head_sha_fits(value: object) -> bool:
    return value is None or (isinstance(value, str) and bool(value.strip()))


def _text(content: dict[str, Any], name: str) -> str | None:
    value = content.get(name)
    return value if isinstance(value, str) else None


def _number(content: dict[str, Any], name: str) -> int | None:
    # JSON knows one kind of number: 1e3 is an integer, true is none, and beyond 2**53 other tools lose digits.
    value = content.get(name)
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or value != value // 1
        or not 1 <= value <= 2**53
    ):
        return None
    return int(value)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"


@dataclass(frozen=True, slots=True)
class Beat:
    """What a writer has to say. Raises ValueError, in one line, for what the contract does not allow."""

    agent_id: str
    parent_id: str
    phase: str
    message: str
    terminal_state: str | None = None
    pr_number: int | None = None
    wait_kind: str | None = None
    head_sha: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for complaint in self._complaints():
            raise ValueError(complaint)

    def _complaints(self) -> Iterator[str]:
        if not is_safe_slug(self.agent_id):
            yield f"agent id {_shown(self.agent_id)} cannot be a file name; use {SLUG_RULE}"
        if not self.parent_id.strip():
            yield "parent id is empty; give the run id of the orchestrator the agent reports to"
        if complaint := _message_complaint(self.message, LONGEST_MESSAGE):
            yield f"message {complaint}; say what the agent does right now"
        if self.phase not in PHASES:
            yield f"unknown phase {_shown(self.phase)}; one of {', '.join(PHASES)}"
        if self.wait_kind is not None and self.wait_kind not in WAIT_KINDS:
            yield f"unknown wait kind {_shown(self.wait_kind)}; one of {', '.join(WAIT_KINDS)}"
        if self.terminal_state is not None and self.terminal_state not in TERMINAL_STATES:
            yield f"unknown terminal state {_shown(self.terminal_state)}; one of {', '.join(TERMINAL_STATES)}"
        if (self.phase == "terminal") != (self.terminal_state is not None):
            yield "phase terminal and a terminal state go together: give both or neither"
        if self.pr_number is not None and _number({"": self.pr_number}, "") is None:
            yield f"pull request number {_shown(self.pr_number)} is no integer above zero"

    def content(self, now: datetime) -> dict[str, Any]:
        """The record as JSON. Keys without a value are left out: `wait_kind: null` would be malformed."""
        optional = {
            "pr_number": self.pr_number,
            "wait_kind": self.wait_kind,
            "head_sha": (self.head_sha or "").strip() or None,
            "extra": self.extra or None,
        }
        return {
            "agent_id": self.agent_id,
            "parent_id": self.parent_id,
            "last_heartbeat_at": format_utc(now),
            "last_message": self.message,
            "phase": self.phase,
            "terminal_state": self.terminal_state,
        } | {name: value for name, value in optional.items() if value is not None}


def one_line(message: str) -> str:
    """Any text as a message that a record may carry: one line of at most 200 characters, cut."""
    text = " ".join(message.split())
    return text if len(text) <= LONGEST_MESSAGE else text[: LONGEST_MESSAGE - 1] + "…"
