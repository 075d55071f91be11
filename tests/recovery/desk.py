"""The world of one launcher at a desk: it answers a check from evidence that a test can change between two looks.

Effects have effects: a written key is in the file, a closed pane is gone, a put message is taken. `refuses` says which
do not, and how they end. `said` holds every command, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from recovery.given import (
    BASH,
    BOSS_PANE,
    BOSS_PEER,
    CUT,
    ENDED,
    FILE,
    FILES,
    LAUNCHER,
    PEER,
    PI,
    RESTORED,
    RUN,
    RUNNING,
    SEEN,
    SETTINGS,
    WAITING,
    now,
)

from strawboss.recovery import commands as c
from strawboss.recovery.commands import Command, Outcome, Result, SessionState
from strawboss.recovery.evidence import Activity, Clock, Holders, KeyEntry, Transcript
from strawboss.recovery.look import look_at_runs
from strawboss.recovery.memory import Look, Memory
from strawboss.recovery.verdict import Unknown

DONE = Result(Outcome.DONE)
IDLE = SessionState(idle=True)


class KilledError(Exception):
    """The process died at this command."""


@dataclass
class Desk:
    launcher: Any = LAUNCHER
    settings: Any = SETTINGS
    registry: Any = frozenset()
    runs: Any = field(default_factory=lambda: {RUN: WAITING})
    files: dict[str, Any] = field(default_factory=lambda: {RUN: FILES})
    transcript: Any = field(default_factory=lambda: Transcript((SEEN,)))
    tails: dict[str, Any] = field(default_factory=lambda: {FILE: ENDED})
    forks: dict[str, Any] = field(default_factory=dict)
    holders: Any = field(default_factory=Holders)
    identities: dict[int, Any] = field(default_factory=dict)
    roster: Any = (BOSS_PEER, PEER)
    panes: Any = (BOSS_PANE, RUNNING)
    processes: dict[str, Any] = field(default_factory=lambda: {RUNNING.id: (BASH, PI)})
    session: Any = IDLE
    refuses: dict[type, Result] = field(default_factory=dict)
    broken_keys: frozenset[str] = frozenset()
    takes_messages: bool = True
    before: Callable[[Command], None] = lambda _: None
    memory: Memory = field(default_factory=Memory)
    looks: int = 0
    seconds: float = 0.0
    said: list[Command] = field(default_factory=list)

    def look(self, at: Clock | None = None) -> Look:
        """One look, an interval after the last one; raises what `before` raises."""
        self.looks += 1
        clock = at or now(self.looks)
        self.seconds = clock.monotonic
        steps = look_at_runs(self.launcher, self.settings, self.memory, clock)
        answer: Any = None
        while True:
            try:
                command = steps.send(answer)
            except StopIteration as end:
                look: Look = end.value
                self.memory = look.memory
                return look
            self.before(command)
            self.said.append(command)
            answer = self.answer(command)

    def look_times(self, times: int) -> Look:
        return [self.look() for _ in range(times)][-1]

    def restart(self) -> None:
        """Another process: it remembers nothing."""
        self.memory, self.before = Memory(), lambda _: None

    def answer(self, command: Command) -> Any:
        known = ANSWERS.get(type(command))
        return known(self, command) if known else self.act(command)

    def pause(self, command: c.Pause) -> float:
        self.seconds += command.seconds
        return self.seconds

    def act(self, command: Command) -> Any:
        if isinstance(command, c.WriteKey):
            return self.write(command)
        result = self.refuses.get(type(command), DONE)
        if result.outcome is Outcome.DONE:
            self.happen(command)
        return result

    def write(self, command: c.WriteKey) -> bool:
        if command.key in self.broken_keys:
            return False
        entry = KeyEntry(command.key, command.run, command.data)
        self.transcript = replace(self.transcript, keys=(*self.transcript.keys, entry))
        return True

    def happen(self, command: Command) -> None:
        if isinstance(command, c.ClosePane):
            self.panes = tuple(pane for pane in self.panes if pane.id != command.pane)
        elif isinstance(command, c.TellLauncher) and self.takes_messages:
            self.transcript = replace(self.transcript, told=self.transcript.told + command.runs)

    # -- what was said ---------------------------------------------------------------------------------------------

    def did(self, kind: type) -> list[Any]:
        return [command for command in self.said if isinstance(command, kind)]

    def keys(self) -> list[str]:
        return [command.key for command in self.did(c.WriteKey)]

    def warnings(self) -> list[str]:
        return [one.text for one in self.did(c.Notify) if one.level == "warning"]

    def effects(self) -> list[str]:
        """Every effect in order: a key by its name, the others by their kind."""
        effects = [one for one in self.said if isinstance(one, c.Effect) and not isinstance(one, c.Pause)]
        return [one.key if isinstance(one, c.WriteKey) else type(one).__name__ for one in effects]

    def forget(self) -> None:
        self.said.clear()


ANSWERS: dict[type, Callable[[Desk, Any], Any]] = {
    c.ReadRegistry: lambda desk, _: desk.registry,
    c.ReadRuns: lambda desk, _: desk.runs,
    c.ReadRun: lambda desk, command: desk.files[command.run],
    c.ReadTranscript: lambda desk, _: desk.transcript,
    c.ReadTail: lambda desk, command: desk.tails.get(command.session_file, Unknown("no such file")),
    c.FindForks: lambda desk, command: desk.forks.get(command.session_file, ()),
    c.FindHolders: lambda desk, _: desk.holders,
    c.Identify: lambda desk, command: desk.identities.get(command.pid),
    c.ListSessions: lambda desk, _: desk.roster,
    c.ListPanes: lambda desk, _: desk.panes,
    c.ProcessInfo: lambda desk, command: desk.processes.get(command.pane, Unknown("no such pane")),
    c.ReadSession: lambda desk, _: desk.session,
    c.Pause: Desk.pause,
    c.Notify: lambda _, __: None,
}


def stranded(**changes: Any) -> Desk:
    """A finished child in its own pane, whose launcher forgot it."""
    return Desk(**changes)


def restored(**changes: Any) -> Desk:
    """A child cut off by a restart, whose pane came back plain in a new terminal."""
    given: dict[str, Any] = {
        "runs": {RUN: Activity("active", "tool_execution_start", WAITING.updated_at)},
        "tails": {FILE: CUT},
        "panes": (BOSS_PANE, RESTORED),
        "processes": {RESTORED.id: (PI,)},
    }
    return Desk(**{**given, **changes})


def kill_at(kind: type, key: str | None = None) -> Callable[[Command], None]:
    """The process dies before the first such command (or writing that key) takes place."""

    def before(command: Command) -> None:
        if isinstance(command, kind) and key in (None, getattr(command, "key", None)):
            raise KilledError

    return before


def kinds(commands: Iterable[Command]) -> list[type]:
    return [type(command) for command in commands]
