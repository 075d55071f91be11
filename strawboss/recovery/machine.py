"""What a look must know of a machine to take its road. A machine is one way to get a stranded run back."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from strawboss.recovery.commands import Command
from strawboss.recovery.evidence import Pane
from strawboss.recovery.facts import Facts
from strawboss.recovery.keys import RunKeys
from strawboss.recovery.known import Commands, Known
from strawboss.recovery.proof import Table
from strawboss.recovery.verdict import Condition, Verdict

Conditions = tuple[Condition[Facts], ...]


@dataclass(frozen=True, slots=True)
class Machine:
    """`follows`: the machine that must have given up first, if any. `last_miss`: which look without what it needs gives up
    until the next session start; `is_miss`: which looks count.

    The conditions are asked in order of cost: what the files and keys say, the roster, the pane list, the processes of
    `pane`, and every other witness, whom `hear` asks. `stands`: the state in which the keys put it, given the one it was
    in and what was found. `found`: what is found there, so that another thing starts the proof again. `called`: what a
    report calls it for this run. `go_on` goes on with what was begun, `act` begins.
    """

    name: str
    table: Table
    ended: frozenset[str]
    under_way: frozenset[str]
    follows: str
    last_miss: int
    is_miss: Callable[[Facts, Verdict], bool]
    by_files: Conditions
    by_roster: Conditions
    by_panes: Conditions
    by_processes: Conditions
    by_witnesses: Conditions
    hear: Callable[[Facts], Generator[Command, Any, Facts]]
    stands: Callable[[RunKeys, str, str], str]
    pane: Callable[[Facts], Pane | None]
    found: Callable[[Facts], str]
    called: Callable[[Facts], str]
    go_on: Callable[[Known], Commands]
    act: Callable[[Known], Commands]

    @property
    def before_witnesses(self) -> Conditions:
        return self.by_files + self.by_roster + self.by_panes + self.by_processes

    @property
    def conditions(self) -> Conditions:
        return self.before_witnesses + self.by_witnesses
