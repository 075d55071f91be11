"""How long the machine has slept: what makes a healthy worker's beat look old though nobody had a chance to beat."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from strawboss.system.process_identity import boot_id

# A clock that runs on while the machine sleeps, and one that stops then; what they are called differs.
_CLOCK_PAIRS = (("CLOCK_BOOTTIME", "CLOCK_MONOTONIC"), ("CLOCK_MONOTONIC", "CLOCK_UPTIME_RAW"))
# Less than this is drift and scheduling, not sleep.
SHORTEST_SLEEP_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class SleepClock:
    """Seconds this boot has been suspended so far; comparable only within one boot."""

    boot: str
    slept_seconds: float

    def as_extra(self) -> dict[str, Any]:
        """What a writer leaves in the record's opaque `extra`, for the monitor to compare."""
        return {"clock": {"boot": self.boot, "slept_seconds": round(self.slept_seconds, 1)}}


def sleep_clock() -> SleepClock | None:
    """None where the system cannot tell."""
    boot = boot_id()
    for runs_on, stops in _CLOCK_PAIRS:
        if boot and hasattr(time, runs_on) and hasattr(time, stops):
            elapsed = time.clock_gettime(getattr(time, runs_on)) - time.clock_gettime(getattr(time, stops))
            return SleepClock(boot, max(0.0, elapsed))
    return None


def slept_since(extra: dict[str, Any] | None, clock: SleepClock | None) -> float | None:
    """Seconds slept since a record was written; None when its writer or this system does not say."""
    then = (extra or {}).get("clock")
    if clock is None or not isinstance(then, dict) or then.get("boot") != clock.boot:
        return None
    slept = then.get("slept_seconds")
    if not isinstance(slept, (int, float)) or isinstance(slept, bool):
        return None
    return max(0.0, clock.slept_seconds - slept)


@dataclass(frozen=True, slots=True)
class Clocks:
    """The two clocks of one look of a resident monitor, in seconds. Never mixed, only their steps compared."""

    wall: float
    monotonic: float


def slept_between(before: Clocks | None, now: Clocks) -> float:
    """Seconds the wall clock went ahead of the monotonic one: the machine slept, or its clock was set."""
    if before is None:
        return 0.0
    jump = (now.wall - before.wall) - (now.monotonic - before.monotonic)
    return jump if jump >= SHORTEST_SLEEP_SECONDS else 0.0
