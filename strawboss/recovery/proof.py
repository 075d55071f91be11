"""One proof for every machine: nothing is done for a run that was not found so twice in a row, an interval apart.

A proof is where a machine stands with one run: its state, what was found and when, how many looks missed, and what
stood in the way last. The rows of `PROVING` begin the table of every machine; what it does after `FOUND_TWICE` is its
own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum, StrEnum

from strawboss.recovery.evidence import Clock
from strawboss.recovery.verdict import Verdict

EARLY = 0.9  # of an interval: a look a little before its time is still the next look


class Stage(StrEnum):
    """The states that all machines share."""

    WATCHING = "watching"
    FOUND_ONCE = "found once"
    FOUND_TWICE = "found twice"
    GIVEN_UP = "given up"


class Finding(Enum):
    """What a look can say to a proof."""

    FOUND = "found"
    FOUND_AGAIN = "found so at the next look too"
    NOT_FOUND = "not found so"
    LAST_MISS = "the last miss"
    KEY_MISSING = "key not confirmed"


# A state is its text, so that a proof can be written down; a table knows which texts and events there are.
Table = Mapping[tuple[str, Enum], str]

# FOUND in FOUND_ONCE: too soon after the first look, or another thing was found.
PROVING: Table = {
    (Stage.WATCHING, Finding.NOT_FOUND): Stage.WATCHING,
    (Stage.WATCHING, Finding.FOUND): Stage.FOUND_ONCE,
    (Stage.WATCHING, Finding.LAST_MISS): Stage.GIVEN_UP,
    (Stage.FOUND_ONCE, Finding.FOUND): Stage.FOUND_ONCE,
    (Stage.FOUND_ONCE, Finding.FOUND_AGAIN): Stage.FOUND_TWICE,
    (Stage.FOUND_ONCE, Finding.NOT_FOUND): Stage.WATCHING,
    (Stage.FOUND_ONCE, Finding.LAST_MISS): Stage.GIVEN_UP,
    (Stage.FOUND_TWICE, Finding.NOT_FOUND): Stage.WATCHING,
    (Stage.FOUND_TWICE, Finding.LAST_MISS): Stage.GIVEN_UP,
    (Stage.FOUND_TWICE, Finding.KEY_MISSING): Stage.FOUND_ONCE,
}


@dataclass(frozen=True, slots=True)
class Found:
    """The first look of a proof: when (monotonic seconds), and what was found. Another thing found starts it again."""

    at: float
    what: str


@dataclass(frozen=True, slots=True)
class Proof:
    """`state`: one of the machine's. `obstacle`: the first condition that did not hold at the last look that asked."""

    state: str = Stage.WATCHING
    found: Found | None = None
    misses: int = 0
    obstacle: Verdict | None = None

    def step(self, table: Table, event: Enum) -> Proof:
        """A pair of state and event that is not in the table is a bug: KeyError, and nothing has changed."""
        return replace(self, state=table[self.state, event])

    def start_over(self) -> Proof:
        """Two looks in a row: one that found nothing, or saw nothing, ends the proof."""
        return replace(self, state=Stage.WATCHING, found=None) if self.state == Stage.FOUND_ONCE else self

    def stands_at(self, state: str) -> Proof:
        """What the keys say outlives what was found."""
        return self if state == self.state else replace(self, state=state, found=None)

    def take_found(self, table: Table, what: str, now: Clock, interval: float) -> Proof:
        """This look found it. `interval`: seconds between two looks."""
        found = (
            self.found if self.found is not None and self.found.what == what else Found(now.monotonic, what)
        )
        again = now.monotonic - found.at >= interval * EARLY
        proof = replace(self, found=found, obstacle=None)
        return proof.step(table, Finding.FOUND_AGAIN if again else Finding.FOUND)

    def take_obstacle(self, table: Table, obstacle: Verdict, last_miss: int, *, missed: bool) -> Proof:
        """This look did not find it. `last_miss`: which miss gives up. `missed`: whether this look is one."""
        misses = self.misses + missed
        proof = replace(self, found=None, misses=misses, obstacle=obstacle)
        return proof.step(table, Finding.LAST_MISS if misses >= last_miss else Finding.NOT_FOUND)


def mermaid(table: Table) -> str:
    """The table as a mermaid state diagram, one arrow a row."""
    arrows = [
        f"    {_node(before)} --> {_node(after)}: {event.value}" for (before, event), after in table.items()
    ]
    return "\n".join(["stateDiagram-v2", f"    [*] --> {_node(Stage.WATCHING)}", *arrows])


def _node(state: str) -> str:
    assert isinstance(state, StrEnum)
    return state.name
