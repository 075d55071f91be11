"""Where a history of the exhaustive search stands: the runs as they really are, and what the core remembers."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import Any

from crash import evidence
from crash.judge import BrokenInvariantError, Record

from strawboss.recovery.commands import Command
from strawboss.recovery.facts import Standing
from strawboss.recovery.look import MACHINES
from strawboss.recovery.memory import Look, Memory, RunMemory
from strawboss.recovery.noting import NOTING_LOOKS
from strawboss.recovery.proof import Proof, Stage
from strawboss.recovery.restored.numbers import PUTS, REACH_LOOKS

INTERVAL = evidence.SETTINGS.interval
NOW = evidence.clock(INTERVAL)  # every look; the memory's clocks are moved instead
# What nothing has been added to since: `GROWN` and `REWRITTEN` are what comes after.
STANDING = Standing(evidence.tail("", "cut").entries[-1].id, evidence.activity("waiting").updated_at)


@dataclass(frozen=True, slots=True)
class Run:
    """One run in the world. `ran_in`: the terminal in which a look last saw its launch script run. `lies_in`: the one in
    which its pane was last listed, where that tells one stranding from the next.

    `heard`: whether the look before found it, heard how far its session file had come, and nobody said otherwise.
    `connected`: whether pi-intercom has known it while this process lives. `resumes`: the run whose session
    file it goes on with, `generation`: how often that file has been resumed; `past`: it is that run, and all is said of it.
    """

    id: str
    kind: str
    resumes: str = ""
    generation: int = 0
    past: bool = False
    ran_in: str | None = None
    reported: bool = False
    heard: bool = False
    connected: bool = False
    lies_in: str = ""
    record: Record = field(default_factory=Record)

    @property
    def file(self) -> str:
        """The run whose session file it is on."""
        return self.resumes or self.id

    @property
    def was_restored(self) -> bool:
        """A worktree run for which something was done in a restored pane: it keeps that."""
        record = self.record
        done = record.continued_in or record.told_in or record.queued
        return self.kind == "worktree" and bool(done) and bool(self.lies_in)

    @property
    def notes_pi(self) -> bool:
        """Whether the key that noted it as running names its pi."""
        noted = [entry for entry in self.record.keys if entry.key == "seen"]
        return bool(noted) and "pid" in noted[-1].data

    @property
    def surface(self) -> str:
        return f"w1:p{self.id[0]}"

    def terminal(self, number: int) -> str:
        return f"t{self.id[0]}.{number}"

    def killed(self, *, launcher: bool) -> Run:
        """What outlives a process. A terminal that was noticed and not noted is forgotten (docs/assurance.md)."""
        record = self.record.at_session_start()
        noted = [str(entry.data["terminal"]) for entry in record.keys if entry.key == "seen"]
        if launcher and record.queued:
            record = replace(record, queued=0)
        return replace(self, ran_in=noted[-1] if noted else None, heard=False, connected=False, record=record)

    def key(self) -> object:
        record = self.record
        void = set() if record.nudged else {"nudged", "unnudged"}  # as if it had never been written
        keys = [(entry.key, entry.data.get("terminal")) for entry in record.keys if entry.key not in void]
        keys = tuple(key for key, before in zip(keys, [None, *keys], strict=False) if key != before)
        lies_in = self.lies_in if self.was_restored else ""
        return (
            self.id,
            self.kind,
            self.ran_in,
            lies_in,
            self.reported,
            self.heard,
            self.connected,
            keys,
            replace(record, keys=()),
        )


@dataclass(frozen=True, slots=True)
class State:
    runs: tuple[Run, ...]
    memory: Memory

    def key(self, looks: int) -> object:
        """Equal for states that the core cannot tell apart in that many looks to come.

        The memory's count of keys is left out: it only tells whether the file lost some, and here it never does.
        """
        memories = tuple(_memory_key(self.memory.runs.get(run.id), looks) for run in self.runs)
        return tuple(run.key() for run in self.runs), memories, self.memory.warned, self.memory.clock is None

    def killed(self, *, launcher: bool) -> State:
        """After a kill and a new start. `launcher`: its session went too, and with it what was queued."""
        return State(tuple(run.killed(launcher=launcher) for run in self.runs), Memory())


def _memory_key(memory: RunMemory | None, looks: int) -> object:
    if memory is None:
        return None
    noting, handing = memory.noting, memory.handing
    counts = ((noting.misses, NOTING_LOOKS), (handing.unreachable, REACH_LOOKS), (handing.puts, PUTS))
    return (
        tuple(_proof_key(memory.proof(machine.name), machine.last_miss, looks) for machine in MACHINES),
        noting.noted,
        noting.ran_in,
        memory.standing if _may_be_found(memory) else memory.standing is None,
        memory.was_connected,
        handing.maybe_put,
        handing.handover is None,  # what it says is only said
        memory.settled is None,
        tuple(_near(count, end, looks) for count, end in counts),
    )


def _may_be_found(memory: RunMemory) -> bool:
    states = [(machine, memory.proof(machine.name).state) for machine in MACHINES]
    if any(state in machine.under_way for machine, state in states):
        return False
    return any(state not in machine.ended for machine, state in states)


def _proof_key(proof: Proof, last_miss: int, looks: int) -> object:
    obstacle = proof.obstacle.of if proof.state == Stage.GIVEN_UP and proof.obstacle else None
    return proof.state, proof.found, obstacle, _near(proof.misses, last_miss, looks)


def _near(count: int, end: int, looks: int) -> int:
    """A count that cannot reach its end in the looks to come is as good as none."""
    return count if count + looks >= end else 0


def rebased(memory: Memory) -> Memory:
    """The memory as if the next look were at `NOW`: only how long ago a thing was found, and what moves from now on,
    matters.
    """
    return replace(
        memory,
        runs={run: _earlier(_as_it_stands(one)) for run, one in memory.runs.items()},
        clock=evidence.clock(0),
    )


def _as_it_stands(memory: RunMemory) -> RunMemory:
    if memory.standing is None:
        return memory
    active_at = None if memory.standing.active_at is None else STANDING.active_at
    return replace(memory, standing=replace(STANDING, active_at=active_at))


def _earlier(memory: RunMemory) -> RunMemory:
    if all(proof.found is None for proof in memory.proofs.values()):
        return memory
    proofs = {
        name: proof
        if proof.found is None
        else replace(proof, found=replace(proof.found, at=max(proof.found.at - INTERVAL, -INTERVAL)))
        for name, proof in memory.proofs.items()
    }
    return replace(memory, proofs=proofs)


class CoveredError(Exception):
    """An earlier path has been here: what differs is evidence that what follows does not read."""


class Choices:
    """One path through all choices: replays a prefix, then takes the first option of everything new."""

    def __init__(self, prefix: list[tuple[str, int, int]]) -> None:
        self.path = prefix
        self._place = 0
        self._replayed = len(prefix)

    def choose(self, name: str, options: tuple[str, ...]) -> str:
        if self._place == len(self.path):
            self.path.append((name, 0, len(options)))
        asked, chosen, count = self.path[self._place]
        if (asked, count) != (name, len(options)):
            raise BrokenInvariantError(
                "I3", f"the same evidence, and now it asks for {name} instead of {asked}"
            )
        self._place += 1
        return options[chosen]

    @property
    def are_new(self) -> bool:
        """Whether no earlier path came this way."""
        return self._place >= self._replayed

    def next(self) -> Choices | None:
        """The next path in order, or None after the last."""
        path = list(self.path)
        while path:
            name, chosen, count = path.pop()
            if chosen + 1 < count:
                return Choices([*path, (name, chosen + 1, count)])
        return None


def killed_after(commands: int, look: Generator[Command, Any, Look]) -> Generator[Command, Any, Look]:
    """The look of a process that dies after so many commands: nothing is remembered."""
    answer: Any = None
    for _ in range(commands):
        answer = yield look.send(answer)
    return Look((), Memory())
