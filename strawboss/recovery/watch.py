"""What is remembered from one look to the next, and what a look says. All of it is lost with the process; keys are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from strawboss.recovery import nudge, restored
from strawboss.recovery.evidence import Clock, KeyEntry
from strawboss.recovery.keys import RunKeys
from strawboss.recovery.messages import Handover
from strawboss.recovery.verdict import Verdict

JUMP_SECONDS = 10.0  # between the wall and the monotonic clock: the host slept, or the clock was set
EARLY = 0.9  # a look a little before its time is still the next look


@dataclass(frozen=True, slots=True)
class Found:
    """The first look of a proof: when, and what was found. Another thing found there starts the proof again."""

    at: float
    what: str


@dataclass(frozen=True, slots=True)
class Watch:
    """One run since the session start.

    `settled`: the condition that rules the run out until the next session start. `noted`: its `seen` key is written,
    or it cannot be. `ran_in`: where this process saw it run without being able to note it. `obstacle`: that of the
    machine to be named, `machine`. `unreachable`, `puts`: how often the worktree child was out of reach, how often the
    message was put. `maybe_put`: a process that died may have put it, and it may still be queued; only a settled session
    shows that it is not.
    """

    name: str = ""
    session_file: str = ""
    nudge: nudge.State = nudge.State.WATCHING
    nudge_found: Found | None = None
    nudge_misses: int = 0
    nudge_obstacle: Verdict | None = None
    restored: restored.State = restored.State.WATCHING
    restored_found: Found | None = None
    restored_misses: int = 0
    restored_obstacle: Verdict | None = None
    noted: bool = False
    ran_in: str | None = None
    note_misses: int = 0
    unreachable: int = 0
    puts: int = 0
    maybe_put: bool = False
    handover: Handover | None = None
    settled: Verdict | None = None
    obstacle: Verdict | None = None
    machine: str = ""

    def is_open(self, tracked: bool) -> bool:
        """Whether this look must spend anything on the run."""
        if self.settled is not None:
            return False
        if tracked:
            return not self.noted and self.note_misses < restored.MISSES
        return self.nudge not in nudge.FINAL or self.restored not in restored.FINAL

    def start_over(self) -> Watch:
        """Two looks in a row: one that found nothing, or saw nothing, ends the proof."""
        watch = self
        if watch.nudge is nudge.State.FOUND_ONCE:
            watch = replace(watch, nudge=nudge.State.WATCHING, nudge_found=None)
        if watch.restored is restored.State.FOUND_ONCE:
            watch = replace(watch, restored=restored.State.WATCHING, restored_found=None)
        return watch

    def with_keys(self, keys: RunKeys, surface: str) -> Watch:
        """`surface`: the pane its launch script names. A note of another pane (an earlier attempt's) is none."""
        is_noted = keys.terminal is not None and keys.pane in (None, surface)
        state = restored.state_of(keys, self.restored)
        return replace(
            self,
            nudge=nudge.state_of(keys, self.nudge),
            restored=state,
            restored_found=self.restored_found if state is self.restored else None,
            noted=self.noted or is_noted,
        )


NEW = Watch()


@dataclass(frozen=True, slots=True)
class RunReport:
    """One run at one look. `obstacle`: the first condition that does not hold, or None."""

    run: str
    name: str
    machine: str  # nudge | restored | worktree | "" while it is tracked or settled
    state: str
    obstacle: Verdict | None
    stranded: bool


@dataclass(frozen=True, slots=True)
class Memory:
    """Empty at each session start. `keys`: how often each (key, run) was in the file; it may only grow."""

    watches: Mapping[str, Watch] = field(default_factory=dict)
    clock: Clock | None = None
    keys: Mapping[tuple[str, str], int] = field(default_factory=dict)
    warned: frozenset[str] = frozenset()
    reports: Mapping[str, RunReport] = field(default_factory=dict)

    def jumped(self, now: Clock) -> bool:
        """Whether the two clocks moved apart since the last look (**beyond**: R73, R74)."""
        if self.clock is None:
            return False
        return abs((now.wall - self.clock.wall) - (now.monotonic - self.clock.monotonic)) > JUMP_SECONDS

    def lost_keys(self, entries: tuple[KeyEntry, ...]) -> bool:
        """Whether the file has fewer keys than before: it was replaced or truncated under us."""
        return bool(Counter(self.keys) - count_keys(entries))


def count_keys(entries: tuple[KeyEntry, ...]) -> Counter[tuple[str, str]]:
    return Counter((entry.key, entry.run) for entry in entries)


@dataclass(frozen=True, slots=True)
class Look:
    runs: tuple[RunReport, ...]
    memory: Memory

    @property
    def stranded(self) -> int:
        return sum(run.stranded for run in self.runs)
