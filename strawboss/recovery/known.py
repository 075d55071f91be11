"""What a look under way knows so far of each run, and what it will remember."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from strawboss.recovery.commands import Command
from strawboss.recovery.evidence import Clock, Launcher, Runs
from strawboss.recovery.facts import Facts
from strawboss.recovery.handover import Handing
from strawboss.recovery.memory import NEW, Memory, RunMemory
from strawboss.recovery.proof import Proof, Table
from strawboss.recovery.settings import Settings
from strawboss.recovery.verdict import Verdict

Commands = Generator[Command, Any, None]


@dataclass(slots=True)
class Known:
    """`facts`: the runs this look spends anything on. `runs`, `keys`, `warned`: the memory for the next look."""

    launcher: Launcher
    settings: Settings
    memory: Memory
    now: Clock
    activities: Runs
    runs: dict[str, RunMemory] = field(default_factory=dict)
    facts: dict[str, Facts] = field(default_factory=dict)
    keys: dict[tuple[str, str], int] = field(default_factory=dict)
    warned: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.runs = {run: self.memory.runs.get(run, NEW) for run in sorted(self.activities)}
        self.keys = dict(self.memory.keys)
        self.warned = set(self.memory.warned)

    def first_time(self, what: str) -> bool:
        """Whether this warning is new in this session start."""
        known = what in self.warned
        self.warned.add(what)
        return not known

    def at(self, machine: str, *states: str) -> Sequence[str]:
        """The runs this look knows facts of that stand in one of these states of the machine."""
        return [run for run in self.facts if self.runs[run].proof(machine).state in states]

    def remember(self, run: str, **changes: Any) -> None:
        self.runs[run] = replace(self.runs[run], **changes)

    def learn(self, run: str, **changes: Any) -> Facts:
        """What this look has learned since about the run; the facts with it."""
        self.facts[run] = replace(self.facts[run], **changes)
        return self.facts[run]

    def prove(self, run: str, machine: str, proof: Proof) -> None:
        self.runs[run] = self.runs[run].with_proof(machine, proof)

    def step(self, run: str, machine: str, table: Table, event: Enum) -> None:
        self.prove(run, machine, self.runs[run].proof(machine).step(table, event))

    def obstruct(self, run: str, machine: str, obstacle: Verdict) -> None:
        """That is what stands in the machine's way, and what a report says."""
        self.prove(run, machine, replace(self.runs[run].proof(machine), obstacle=obstacle))
        self.remember(run, obstacle=obstacle)

    def hand(self, run: str, **changes: Any) -> Handing:
        """How far the telling of this run has come now."""
        handing = replace(self.runs[run].handing, **changes)
        self.remember(run, handing=handing)
        return handing
