"""One look at a launcher from outside: everything is read, nothing is done, nobody inside pi is asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, Protocol

from strawboss.recovery import commands as c
from strawboss.recovery.commands import Command, Outcome, Result
from strawboss.recovery.evidence import (
    Clock,
    Forks,
    Holders,
    Identity,
    Launcher,
    Panes,
    Processes,
    Registry,
    RunFiles,
    Runs,
    Tail,
    Transcript,
)
from strawboss.recovery.look import look_at_runs
from strawboss.recovery.memory import Look, Memory
from strawboss.recovery.settings import Settings
from strawboss.recovery.verdict import Unknown

ONLY_LOOKING = Unknown("this look was made from outside: it does nothing")
NOT_ASKED = Unknown("pi-intercom is not asked from outside")
NOTHING_DONE = Result(Outcome.UNKNOWN, ONLY_LOOKING.why)


class Files(Protocol):
    def runs(self) -> Runs | Unknown: ...
    def run(self, run_id: str) -> RunFiles: ...
    def transcript(self) -> Transcript | Unknown: ...
    def tail(self, session_file: str) -> Tail | Unknown: ...
    def forks(self, session_file: str) -> Forks | Unknown: ...


class Terminals(Protocol):
    def panes(self) -> Panes | Unknown: ...
    def process_info(self, pane_id: str) -> Processes | Unknown: ...


class Machine(Protocol):
    def holders(self, session_file: str, script: str) -> Holders | Unknown: ...
    def identify(self, pid: int) -> Identity | Unknown | None: ...


class Onlooker:
    """`registry`: what the launcher tracks; nobody tracks anything for a session without pi."""

    def __init__(
        self, registry: Registry | Unknown, files: Files, herdr: Terminals, machine: Machine
    ) -> None:
        hours = count(step=3600.0)  # nobody waits for what nobody does
        self._answers: Mapping[type, Callable[[Any], Any]] = {
            c.ReadRegistry: lambda _: registry,
            c.ReadRuns: lambda _: files.runs(),
            c.ReadRun: lambda command: files.run(command.run),
            c.ReadTranscript: lambda _: files.transcript(),
            c.ReadTail: lambda command: files.tail(command.session_file),
            c.FindForks: lambda command: files.forks(command.session_file),
            c.ListPanes: lambda _: herdr.panes(),
            c.ProcessInfo: lambda command: herdr.process_info(command.pane),
            c.ListSessions: lambda _: NOT_ASKED,
            c.FindHolders: lambda command: machine.holders(command.session_file, command.script),
            c.Identify: lambda command: machine.identify(command.pid),
            c.ReadSession: lambda _: ONLY_LOOKING,
            c.WriteKey: lambda _: ONLY_LOOKING,
            c.ClosePane: lambda _: NOTHING_DONE,
            c.SendIntercom: lambda _: NOTHING_DONE,
            c.TellLauncher: lambda _: NOTHING_DONE,
            c.Notify: lambda _: None,
            c.Pause: lambda _: next(hours),
        }

    def answer(self, command: Command) -> Any:
        return self._answers[type(command)](command)


def look_once(launcher: Launcher, settings: Settings, onlooker: Onlooker) -> Look:
    """What a first look would say of each run, with its acts left undone."""
    steps = look_at_runs(launcher, settings, Memory(), Clock(time.time(), time.monotonic()))
    answer: Any = None
    while True:
        try:
            command = steps.send(answer)
        except StopIteration as end:
            look: Look = end.value
            return look
        answer = onlooker.answer(command)
