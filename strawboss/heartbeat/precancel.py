"""`subagent:pre-cancel`: ask before you cancel. Green only by one of three branches, in this order:

(a) the canceller's own status request was acknowledged, or waited unread for the whole observed window, also past
    its lifetime;
(b) the child is proven dead by the one classifier;
(c) force, with a reason that is printed.

Source: docs/heartbeat.md#query-before-cancel.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from strawboss.heartbeat.classify import (
    STARTUP_GRACE_SECONDS,
    Dispatched,
    Judgement,
    Known,
    Standing,
    judge,
    somebody_else,
)
from strawboss.heartbeat.firstseen import first_seen
from strawboss.heartbeat.layout import SLUG_RULE, is_safe_slug
from strawboss.heartbeat.places import NoPlaceError, check_steer_directory
from strawboss.heartbeat.steer import Inbox, Steer, read_inbox
from strawboss.heartbeat.sweep import Sweep, check_status_directory, sweep
from strawboss.heartbeat.utc import format_utc
from strawboss.system.json_files import Broken

OBSERVED_WINDOW_SECONDS = STARTUP_GRACE_SECONDS
FORWARD_SKEW_SECONDS = 60.0
STATUS_REQUESTS = ("note", "correction")

_HEARTBEAT_CLEARS = {
    Standing.STALE: "heartbeat-stale-or-missing-after-first",
    Standing.MISSING_AFTER_GRACE: "heartbeat-grace-expired-missing",
}
_HEARTBEAT_REFUSES = {
    Standing.ALIVE: (
        "heartbeat-fresh",
        "its heartbeat is fresh or terminal: steer it, or collect its result",
    ),
    Standing.MALFORMED: ("heartbeat-malformed", "its heartbeat cannot be trusted: {failures}"),
    Standing.WITHIN_GRACE: ("heartbeat-within-grace", "it is within its startup grace of 3 minutes: wait"),
    Standing.MISSING_GRACE_UNSAID: (
        "heartbeat-within-grace",
        "no record and no dispatch time: give --dispatch-started-at",
    ),
    Standing.DOUBTED: ("identity-unknown", "{doubt}: check the name and the worktree, or force"),
    Standing.MISSING_GRACE_UNKNOWN: (
        "heartbeat-within-grace",
        "no record, and the dispatch time cannot be read: give --dispatch-started-at",
    ),
}


@dataclass(frozen=True, slots=True)
class Request:
    """Who wants to cancel whom, and where to look. `window` in seconds, three minutes at least."""

    agent_id: str
    canceller_id: str
    steer_directory: Path
    scratch_directory: Path
    first_seen_directory: Path
    dispatched: Dispatched = None
    expected_worker: str | None = None
    window: float = OBSERVED_WINDOW_SECONDS
    force: bool = False
    reason: str = ""
    # Whether the name of the agent is on record as the one to cancel, and not only the caller's word.
    identified: bool = True
    # What ledgers and leases know of it, where the request does not come from the ledger itself.
    known: Known | None = None


class Outcome(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`subagent:pre-cancel --json`. Exactly one of `clear_reason` and `refuse_reason` is set."""

    ok: bool
    agent_id: str
    canceller_id: str
    clear_reason: str | None
    refuse_reason: str | None
    first_seen_at: str | None
    matching_steer_id: str | None
    message: str
    exit_code: int


def check(request: Request, now: datetime) -> Outcome:
    """The gate. Writes nothing but the first-seen stamp."""
    return _unsafe_agent(request) or _misuse(request) or _mismatch(request) or _decide(request, now)


def check_cancel(request: Request, now: datetime) -> Outcome:
    """The gate as a cancel in the ledger asks it: the ledger knows the attempt, not always its worker.

    Nobody to ask is a refusal and no misuse; force needs nobody to ask, but somebody who cancels.
    """
    if request.agent_id and request.canceller_id.strip():
        return check(request, now)
    if request.force:
        return _misuse(request) or forced(request)
    return _refuse(
        request, "missing-agent", "who is to be cancelled by whom? give --agent and --canceller-id"
    )


def forced(request: Request) -> Outcome:
    """Branch (c). The reason is printed: whoever reads the log must see that nobody asked the child."""
    return _clear(request, "force", f"FORCE by {request.canceller_id}: {' '.join(request.reason.split())}")


def _unsafe_agent(request: Request) -> Outcome | None:
    if is_safe_slug(request.agent_id):
        return None
    return _refuse(request, "missing-agent", f"--agent must be {SLUG_RULE}", code=2)


def _misuse(request: Request) -> Outcome | None:
    if not request.canceller_id.strip():
        return _refuse(
            request, "missing-canceller", "--canceller-id is blank; say who wants to cancel", code=2
        )
    if request.force and not request.reason.strip():
        return _refuse(request, "config", "force needs --reason with a text that says why", code=2)
    if not request.window >= OBSERVED_WINDOW_SECONDS:
        # A worker polls its inbox every two to three minutes: who was watched for less has not been silent.
        why = f"an observed window of {request.window:g} seconds is shorter than {OBSERVED_WINDOW_SECONDS:g}"
        return _refuse(request, "config", f"{why}; give {OBSERVED_WINDOW_SECONDS:g} or more", code=2)
    return None


def _mismatch(request: Request) -> Outcome | None:
    if request.expected_worker in (None, request.agent_id):
        return None
    return _refuse(request, "identity-mismatch", f"the attempt's worker is {request.expected_worker}")


def _decide(request: Request, now: datetime) -> Outcome:
    outcome = _ask(request, now)
    return outcome if outcome.ok or not request.force else forced(request)


def _ask(request: Request, now: datetime) -> Outcome:
    try:
        check_status_directory(request.scratch_directory)
        check_steer_directory(request.steer_directory)
        return _by_steer(request, read_inbox(request.steer_directory, request.agent_id), now)
    except NoPlaceError as error:
        return _refuse(request, "config", str(error), code=2)
    except OSError as error:
        return _refuse(request, "config", f"{error.filename or ''}: {error.strerror or error}", code=2)


def _by_steer(request: Request, inbox: Inbox, now: datetime) -> Outcome:
    steer = inbox.steer
    if isinstance(steer, Broken):
        return _refuse(request, "parse_failures", f"the inbox {inbox.path} does not parse: {steer.reason}")
    if steer and _is_status_request(request, steer):
        return _by_status_request(request, steer, inbox.acked, now)
    if steer is None or steer.expired(now) or inbox.acked:
        return _by_heartbeat(request, now)
    why = f"a {steer.kind} of {steer.writer_id} waits unread, no status request of yours"
    return _unless_dead(request, now, _refuse(request, "writer-mismatch", why))


def _is_status_request(request: Request, steer: Steer) -> bool:
    """Whether the canceller has asked this very worker: what was asked before its dispatch was asked of another."""
    dispatched = request.dispatched if isinstance(request.dispatched, datetime) else None
    of_this_worker = dispatched is None or steer.written_at >= dispatched.replace(microsecond=0)
    return steer.writer_id == request.canceller_id and steer.kind in STATUS_REQUESTS and of_this_worker


def _by_status_request(request: Request, steer: Steer, acked: bool, now: datetime) -> Outcome:
    # The ack first, and no look at the lifetime: a request that was answered, or watched, stays so when it is over.
    if acked:
        return _clear(request, "steer-acked", "it acknowledged your status request", steer)
    seen = first_seen(request.first_seen_directory, steer, request.canceller_id, now)
    if isinstance(seen, Broken):
        return _refuse(
            request, "config", f"{seen.reason}; remove it by hand if it is not yours", steer, code=2
        )
    if (steer.written_at - seen).total_seconds() > FORWARD_SKEW_SECONDS:
        return _refuse(
            request, "forward-skew", "the steer says it was written after it was first seen", steer, seen
        )
    watched = (now - seen).total_seconds()
    if watched >= request.window:
        return _clear(
            request, "steer-observed-window", f"your status request waited {watched:.0f} s", steer, seen
        )
    left = f"your status request waits unread for {watched:.0f} of {request.window:.0f} s"
    return _unless_dead(request, now, _refuse(request, "observed-window-incomplete", left, steer, seen))


def _unless_dead(request: Request, now: datetime, refused: Outcome) -> Outcome:
    by_heartbeat = _by_heartbeat(request, now)
    return by_heartbeat if by_heartbeat.ok else refused


def _by_heartbeat(request: Request, now: datetime) -> Outcome:
    swept = sweep([str(request.scratch_directory)], now)
    if swept.errors:
        return _refuse(request, "config", swept.errors[0], code=2)
    judged = judge(request.agent_id, swept.records, request.dispatched, now, _doubt(request, swept))
    if not judged.takeover or judged.standing not in _HEARTBEAT_CLEARS:
        return _refuse(request, *_heartbeat_refusal(judged))
    if not request.identified and (other := somebody_else(request.agent_id, swept.records)):
        why = f"the attempt names no worker, and {other} may be it: force, or steer {other}"
        return _refuse(request, "identity-unknown", why)
    return _clear(request, _HEARTBEAT_CLEARS[judged.standing], "its heartbeat proves it dead")


def _doubt(request: Request, swept: Sweep) -> str:
    if request.known is None:
        return ""
    # A time that only the canceller says makes nobody a worker.
    is_said = isinstance(request.dispatched, datetime)
    return request.known.doubt(request.agent_id, swept.records, must_be_known=is_said)


def _heartbeat_refusal(judged: Judgement) -> tuple[str, str]:
    if judged.standing in _HEARTBEAT_CLEARS:
        return "heartbeat-malformed", f"{len(judged.copies)} records claim this name, and not all are dead"
    reason, text = _HEARTBEAT_REFUSES[judged.standing]
    failures = "; ".join(judged.record.failures if judged.record else ())
    return reason, text.format(failures=failures, doubt=judged.doubt)


def _clear(
    request: Request, reason: str, why: str, steer: Steer | None = None, seen: datetime | None = None
) -> Outcome:
    return _outcome(request, reason, None, why, steer, seen, 0)


def _refuse(
    request: Request,
    reason: str,
    why: str,
    steer: Steer | None = None,
    seen: datetime | None = None,
    code: int = 1,
) -> Outcome:
    return _outcome(request, None, reason, why, steer, seen, code)


def _outcome(
    request: Request,
    clear: str | None,
    refuse: str | None,
    why: str,
    steer: Steer | None,
    seen: datetime | None,
    code: int,
) -> Outcome:
    return Outcome(
        ok=code == 0,
        agent_id=request.agent_id,
        canceller_id=request.canceller_id,
        clear_reason=clear,
        refuse_reason=refuse,
        first_seen_at=format_utc(seen) if seen else None,
        matching_steer_id=steer.steer_id if steer else None,
        message=f"subagent:pre-cancel: {clear or refuse}: {why}",
        exit_code=code,
    )
