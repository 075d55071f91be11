"""What is remembered from one look to the next. All of it is lost with the process; keys are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from strawboss.recovery.evidence import Clock, KeyEntry
from strawboss.recovery.facts import Standing
from strawboss.recovery.handover import Handing
from strawboss.recovery.proof import Proof, Stage
from strawboss.recovery.verdict import Verdict

JUMP_SECONDS = 10.0  # between the wall and the monotonic clock: the host slept, or the clock was set
UNPROVEN = Proof()


@dataclass(frozen=True, slots=True)
class Noting:
    """`noted`: the `seen` key is written, or it cannot be. `misses`: looks at a tracked run that could not note it.

    `ran_in`: the terminal in which this process saw it run without being able to note it.
    """

    noted: bool = False
    ran_in: str | None = None
    misses: int = 0


NOT_NOTED = Noting()
NOTHING_HANDED = Handing()


@dataclass(frozen=True, slots=True)
class RunMemory:
    """One run since the session start.

    `proofs`: where each machine stands, by its name. `standing`: what the last look heard, if it asked. `was_connected`:
    whether pi-intercom knew it at any look. `settled`: the condition that rules the run out until the next session start.
    `machine`, `obstacle`: the machine that a report names, and what stood in its way.
    """

    name: str = ""
    session_file: str = ""
    proofs: Mapping[str, Proof] = field(default_factory=dict)
    noting: Noting = NOT_NOTED
    handing: Handing = NOTHING_HANDED
    standing: Standing | None = None
    was_connected: bool = False
    settled: Verdict | None = None
    machine: str = ""
    obstacle: Verdict | None = None

    def proof(self, machine: str) -> Proof:
        return self.proofs.get(machine, UNPROVEN)

    def with_proof(self, machine: str, proof: Proof) -> RunMemory:
        return replace(self, proofs={**self.proofs, machine: proof})

    def start_over(self) -> RunMemory:
        """The same object where no proof was begun: a report of it need not be made again."""
        for proof in self.proofs.values():
            if proof.state == Stage.FOUND_ONCE:
                proofs = {name: proof.start_over() for name, proof in self.proofs.items()}
                return replace(self, proofs=proofs)
        return self

    def tracked(self) -> RunMemory:
        """Nothing is in the way of a run that its launcher watches; the same object where that was so before."""
        over = self.start_over()
        return replace(over, obstacle=None, machine="") if over.obstacle or over.machine else over


NEW = RunMemory()


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

    runs: Mapping[str, RunMemory] = field(default_factory=dict)
    clock: Clock | None = None
    keys: Mapping[tuple[str, str], int] = field(default_factory=dict)
    warned: frozenset[str] = frozenset()
    reports: Mapping[str, RunReport] = field(default_factory=dict)

    def jumped(self, now: Clock) -> bool:
        """Whether the two clocks moved apart since the last look (R73, R74)."""
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
    """What a look says of every run, and the memory for the next one."""

    runs: tuple[RunReport, ...]
    memory: Memory

    @property
    def stranded(self) -> int:
        return sum(run.stranded for run in self.runs)
