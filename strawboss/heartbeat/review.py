"""`verify:review-monitor`: does somebody watch this pull request, and is the road to its merge armed?

Source: docs/heartbeat.md#approach-1-arm-startup.


The lease is a sticky comment on the pull request; the wait is a heartbeat. A red probe past the startup allowance is
the halt class `approach1-arm-startup`; it never starts anything again by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec
import psutil

from strawboss.heartbeat.classify import STARTUP_GRACE_SECONDS
from strawboss.heartbeat.record import Record
from strawboss.heartbeat.utc import parse_utc

HALT_CLASS = "approach1-arm-startup"
LEASE_BEGIN, LEASE_END = "<!-- deft:review-owner -->", "<!-- /deft:review-owner -->"
STAND_DOWN = "unarmed stand-down"
WAITING_PHASES = ("polling", "starting")


@dataclass(frozen=True, slots=True)
class Host:
    """What the host offers for watching; tier 1 has a primitive of its own and needs a lease."""

    tier: int
    primitive: str


@dataclass(frozen=True, slots=True)
class Lease:
    """Who watches, as an unexpired comment says."""

    monitor_agent_id: str
    platform_primitive: str


@dataclass(frozen=True, slots=True)
class Probe:
    """The caller's flags."""

    pr: int
    merge_path_arm: bool = False
    live_wait: bool = False
    explicit_finish: bool = False
    sticky_lease: bool = False
    started_at: datetime | None = None


class Arm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    armed: bool
    reason: str
    message: str
    live_wait: bool
    explicit_finish: bool
    sticky_lease: bool
    lease_evidence: bool
    heartbeat_active: bool


class Startup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    halt: bool
    halt_class: str | None
    elapsed_seconds: float | None
    message: str


class ReviewReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`verify:review-monitor --json`."""

    ready: bool
    exit_code: int
    pr_number: int
    tier: int
    platform_primitive: str
    call_site: str
    message: str
    merge_path_arm: Arm | None
    approach1_arm_startup: Startup | None


def host_of(environment: Mapping[str, str]) -> Host:
    if (tier := environment.get("DEFT_MONITOR_TIER", "").strip()) in ("1", "3"):
        return Host(int(tier), "override")
    if environment.get("GROK_BUILD"):
        return Host(1, "spawn_subagent")
    if environment.get("CURSOR_COMPOSER") or environment.get("CURSOR_AGENT"):
        return Host(1, "cursor-task")
    if any(name.startswith("OPENCLAW_") for name in environment):
        return Host(1, "sessions_spawn")
    return Host(3, "none")


def find_lease(comments: Iterable[tuple[int, str]], now: datetime) -> Lease | None:
    """The unexpired lease of the first comment that carries one; `comments` are (id, body)."""
    for _, body in sorted(comments):
        if LEASE_BEGIN in body and LEASE_END in body.split(LEASE_BEGIN, 1)[1]:
            return _parse_lease(body.split(LEASE_BEGIN, 1)[1].split(LEASE_END, 1)[0], now)
    return None


def _parse_lease(text: str, now: datetime) -> Lease | None:
    pairs = (line.lstrip("-* ").partition(":") for line in text.splitlines())
    fields = {name.strip(): value.strip().strip("`") for name, colon, value in pairs if colon}
    expires = parse_utc(fields.get("expires_at", ""))
    ended = fields.get("ended_at", "") not in ("", "null", "none", "-")
    if expires is None or expires <= now or ended:
        return None
    return Lease(fields.get("monitor_agent_id", ""), fields.get("platform_primitive", ""))


def waits(record: Record, pr: int) -> bool:
    """Whether a heartbeat is a live wait on this pull request."""
    return (
        record.ok
        and not record.is_terminal
        and record.pr_number == pr
        and record.phase in WAITING_PHASES
        and (record.pid is None or psutil.pid_exists(record.pid))
    )


def wait_counts(
    record: Record, host: Host, lease: Lease | None, clean_head: str | None, head: str | None
) -> bool:
    """On hosts that spawn, the wait must be the lease's monitor, or the merge wait on the very head that was clean."""
    if host.primitive != "spawn_subagent":
        return True
    if lease and lease.monitor_agent_id and record.parent_id == lease.monitor_agent_id:
        return True
    return record.parent_id == "pr-wait-mergeable" and clean_head is not None and clean_head == head


def arm(probe: Probe, host: Host, lease: Lease | None, waiting: bool) -> Arm:
    live = probe.live_wait and (host.tier != 1 or (lease is not None and waiting))
    if probe.explicit_finish:
        reason, message = "explicit_finish", "the finish was asked for explicitly"
    elif live:
        reason, message = "live_wait", "a live wait holds the merge path"
    else:
        reason, message = "unarmed_stand_down", f"{STAND_DOWN}: {_lacking(probe, lease)}"
    return Arm(
        probe.explicit_finish or live,
        reason,
        message,
        probe.live_wait,
        probe.explicit_finish,
        probe.sticky_lease,
        lease is not None,
        waiting,
    )


def _lacking(probe: Probe, lease: Lease | None) -> str:
    if not probe.live_wait:
        return "neither --live-wait nor --explicit-finish"
    return "no unexpired lease on the pull request" if lease is None else "no heartbeat of a live wait"


def startup(probe: Probe, armed: bool, now: datetime) -> Startup:
    """The halt: the probe is still red when the startup allowance of 3 minutes is over."""
    elapsed = (now - probe.started_at).total_seconds() if probe.started_at else None
    if armed or probe.explicit_finish or elapsed is None or elapsed < STARTUP_GRACE_SECONDS:
        return Startup(False, None, elapsed, "")
    message = (
        f"{HALT_CLASS}: not armed {elapsed:.0f} s after dispatch; do not spawn again, run subagent:pre-cancel"
    )
    return Startup(True, HALT_CLASS, elapsed, message)


def report(
    probe: Probe, host: Host, lease: Lease | None, waiting: bool, call_site: str, now: datetime
) -> ReviewReport:
    needs_lease = host.tier == 1 or probe.sticky_lease or bool(lease and _is_tier_one(lease))
    owned = lease is not None or not needs_lease
    arming = arm(probe, host, lease, waiting) if probe.merge_path_arm else None
    starting = startup(probe, arming.armed, now) if arming else None
    ready = owned and (arming is None or arming.armed)
    message = "ready" if ready else _why_not(owned, arming, starting)
    return ReviewReport(
        ready, int(not ready), probe.pr, host.tier, host.primitive, call_site, message, arming, starting
    )


def _is_tier_one(lease: Lease) -> bool:
    return lease.platform_primitive in ("spawn_subagent", "cursor-task", "sessions_spawn")


def _why_not(owned: bool, arming: Arm | None, starting: Startup | None) -> str:
    if starting and starting.halt:
        return starting.message
    if arming and not arming.armed:
        return arming.message
    return "no unexpired review-owner lease on the pull request" if not owned else "not ready"
