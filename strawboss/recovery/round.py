"""The look under way: what it knows so far of each run, and what it will remember."""

from __future__ import annotations

from dataclasses import dataclass, field

from strawboss.recovery.evidence import Clock, Launcher, Runs
from strawboss.recovery.facts import Facts
from strawboss.recovery.settings import Settings
from strawboss.recovery.watch import NEW, Memory, Watch


@dataclass(slots=True)
class Round:
    """`facts`: the runs this look spends anything on. `watches`, `keys`, `warned`: the memory for the next look."""

    launcher: Launcher
    settings: Settings
    memory: Memory
    now: Clock
    activities: Runs
    watches: dict[str, Watch] = field(default_factory=dict)
    facts: dict[str, Facts] = field(default_factory=dict)
    keys: dict[tuple[str, str], int] = field(default_factory=dict)
    warned: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.watches = {run: self.memory.watches.get(run, NEW) for run in sorted(self.activities)}
        self.keys = dict(self.memory.keys)
        self.warned = set(self.memory.warned)

    def first_time(self, what: str) -> bool:
        """Whether this warning is new in this session start."""
        known = what in self.warned
        self.warned.add(what)
        return not known
