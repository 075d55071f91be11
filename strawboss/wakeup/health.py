"""How an agent is, from three witnesses: its heartbeat record, its process and its lock (docs/wakeup.md#health).

Each witness may be silent or unreadable. Unknown is never taken for dead: only what is proven leads to an action.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, StrEnum

from strawboss.system.process_identity import Liveness

# Content and file time must agree on a silence (clocks): a file touched this much later than it says is suspect.
CLOCK_SKEW_SECONDS = 120.0
# A silence of so many timeouts is more likely a record that nobody writes any more than a stall.
SUSPECT_FACTOR = 10.0


class Health(StrEnum):
    HEALTHY = "healthy"
    IDLE = "idle"
    STALLED = "stalled"
    DEAD = "dead"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Beat:
    """What the record says. Ages in seconds: `age` by its content, `file_age` by the file's time of change.

    `at` is the record's own time (epoch seconds); `ended` that it, or the store, says its wake-up has ended; `quiet` how
    long (seconds) the agent's command had shown no progress when it was written.
    """

    at: float
    age: float
    file_age: float
    message: str
    ended: bool
    cycle: str | None = None
    quiet: float = 0.0

    @property
    def idle_for(self) -> float:
        """Seconds since the last sign of work."""
        return self.age + self.quiet


class Host(Enum):
    """Who looks after the processes of a place that we cannot see."""

    UNWATCHED = "no monitor was ever seen there"
    WATCHED = "a monitor watches there"
    GONE = "its monitor has fallen silent"


@dataclass(frozen=True, slots=True)
class Broken:
    """The record is there and cannot be used."""

    why: str


@dataclass(frozen=True, slots=True)
class Witnesses:
    """`process` is None when no wake-up is open; `awake` is how long (seconds) the open one has been running.

    `task` is the task it holds; `locked` whether that lock has not run out. `host` matters for a process that we cannot
    see.
    """

    beat: Beat | Broken | None
    process: Liveness | None
    awake: float = 0.0
    task: str | None = None
    locked: bool = False
    host: Host = Host.UNWATCHED

    @property
    def is_lost(self) -> bool:
        """Out of our sight, on a host that shows no sign of life any more."""
        return self.process is Liveness.UNKNOWN and self.host is Host.GONE


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict with its reason. `certain`: the process is proven to be the agent's, or proven to be gone."""

    health: Health
    why: str
    certain: bool = False


def classify(evidence: Witnesses, timeout: float) -> Finding:
    """The verdict on one agent; silence is stalled when it is longer than `timeout` seconds."""
    for rule in RULES:
        finding = rule(evidence, timeout)
        if finding is not None:
            return finding
    raise AssertionError("the last rule always answers")


def _gone(evidence: Witnesses, _: float) -> Finding | None:
    # However fresh its last beat: a process that is gone beats no more.
    if evidence.process in (Liveness.GONE, Liveness.OTHER):
        return Finding(Health.DEAD, "its process is gone", certain=True)
    return None


def _unreadable(evidence: Witnesses, _: float) -> Finding | None:
    if isinstance(evidence.beat, Broken):
        return Finding(Health.UNKNOWN, f"its heartbeat record cannot be used: {evidence.beat.why}")
    return None


def _silent_from_the_start(evidence: Witnesses, timeout: float) -> Finding | None:
    if evidence.beat is not None:
        return None
    if evidence.process is None:
        held = evidence.task is not None and evidence.locked
        why = (
            f"{evidence.task} is checked out in its name and no process is known" if held else "it never woke"
        )
        return Finding(Health.UNKNOWN if held else Health.IDLE, why)
    if evidence.awake <= timeout:
        return Finding(Health.HEALTHY, "it is starting")
    if evidence.is_lost:
        return _stalled(evidence, "it has never written a heartbeat")
    # Perhaps it cannot. That is no reason to do anything to it.
    return Finding(Health.UNKNOWN, "it has never written a heartbeat")


def _asleep(evidence: Witnesses, _: float) -> Finding | None:
    beat = evidence.beat
    if isinstance(beat, Beat) and beat.ended and evidence.process is None:
        return Finding(Health.IDLE, "its last wake-up has ended")
    return None


def _fresh(evidence: Witnesses, timeout: float) -> Finding | None:
    beat = evidence.beat
    if not isinstance(beat, Beat) or beat.age > timeout or beat.ended:
        return None
    if beat.idle_for > timeout:
        why = f"exceeded {timeout:.0f}s timeout: its wake-up beats, its command has shown nothing for {beat.idle_for:.0f}s"
        return Finding(Health.STALLED, why, certain=evidence.process is Liveness.SAME)
    if evidence.task:
        return Finding(Health.HEALTHY, "it beats")
    return Finding(Health.IDLE, "it beats and has no task")


def _starting_again(evidence: Witnesses, timeout: float) -> Finding | None:
    # The record is still that of the wake-up before.
    if evidence.process is not None and evidence.awake <= timeout:
        return Finding(Health.HEALTHY, "it is starting")
    return None


def _clocks_disagree(evidence: Witnesses, timeout: float) -> Finding | None:
    beat = evidence.beat
    if isinstance(beat, Beat) and beat.file_age <= timeout and beat.age > beat.file_age + CLOCK_SKEW_SECONDS:
        why = f"its record says {beat.age:.0f}s ago and was written {beat.file_age:.0f}s ago: clocks disagree"
        return Finding(Health.UNKNOWN, why)
    return None


def _silent(evidence: Witnesses, timeout: float) -> Finding | None:
    beat = evidence.beat
    suspect = isinstance(beat, Beat) and beat.age > SUSPECT_FACTOR * timeout
    note = "; suspect source: nobody may be writing this record any more" if suspect else ""
    return _stalled(evidence, f"exceeded {timeout:.0f}s timeout{note}")


def _stalled(evidence: Witnesses, why: str) -> Finding:
    if evidence.is_lost:
        return Finding(Health.DEAD, f"its host is gone: {why}, and so has the monitor there")
    if evidence.process is Liveness.UNKNOWN and evidence.host is Host.UNWATCHED:
        return Finding(Health.UNKNOWN, f"{why}, and whether its process runs cannot be told")
    return Finding(Health.STALLED, why, certain=evidence.process is Liveness.SAME)


Rule = Callable[[Witnesses, float], Finding | None]
# In this order; the first that answers decides.
RULES: tuple[Rule, ...] = (
    _gone,
    _unreadable,
    _silent_from_the_start,
    _asleep,
    _fresh,
    _starting_again,
    _clocks_disagree,
    _silent,
)
