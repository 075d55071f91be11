"""Does what a check asks for. All of it is in here: the core yields commands, this answers them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Set
from typing import Any, Protocol, TypeVar

from strawboss.pi.link import Refused
from strawboss.pi.protocol import Registry, State
from strawboss.recovery import commands as c
from strawboss.recovery.commands import Command, Outcome, Result, SessionState
from strawboss.recovery.evidence import (
    Forks,
    Holders,
    Identity,
    KeyEntry,
    Pane,
    Peer,
    Process,
    RunFiles,
    Runs,
    Tail,
    Transcript,
)
from strawboss.recovery.verdict import Unknown

T = TypeVar("T")

READ_BACK_SECONDS = 2.0  # pi appends before it answers; what is slower than this is not durable
READ_BACK_PAUSE = 0.02  # seconds between two reads meanwhile
TAKEN_SECONDS = 1.0  # an idle session takes a message at once; a busy one is seen at the next look


class Files(Protocol):
    def runs(self) -> Runs | Unknown: ...
    def run(self, run_id: str) -> RunFiles: ...
    def transcript(self) -> Transcript | Unknown: ...
    def tail(self, session_file: str) -> Tail | Unknown: ...
    def forks(self, session_file: str) -> Forks | Unknown: ...


class Panes(Protocol):
    def panes(self) -> tuple[Pane, ...] | Unknown: ...
    def process_info(self, pane_id: str) -> tuple[Process, ...] | Unknown: ...
    def close(self, pane_id: str) -> Result: ...


class Peers(Protocol):
    def roster(self) -> tuple[Peer, ...] | Unknown: ...
    def send(self, session_id: str, epoch: str | None, text: str) -> Result: ...


class Machine(Protocol):
    def holders(self, session_file: str, script: str) -> Holders | Unknown: ...
    def identify(self, pid: int) -> Identity | Unknown | None: ...


class Extension(Protocol):
    def ask(self, method: str, params: Mapping[str, object], shape: type[T]) -> T | Unknown: ...
    def wait(self, seconds: float, enough: Callable[[], bool] = ...) -> None: ...


class Effects:
    """`answer` gives each command its answer, as the table in `recovery/commands.py` has it. Nothing here decides.

    `taken`: the ids of our messages that the extension saw the session take; it grows while a command waits.
    `done` is told of every effect.
    """

    def __init__(
        self,
        link: Extension,
        disk: Files,
        herdr: Panes,
        intercom: Peers,
        machine: Machine,
        taken: Set[str],
        done: Callable[[Command, Any], None],
    ) -> None:
        self._link, self._disk, self._taken, self._done = link, disk, taken, done
        self._answers: Mapping[type, Callable[[Any], Any]] = {
            c.ReadRegistry: lambda _: self._registry(),
            c.ReadRuns: lambda _: disk.runs(),
            c.ReadRun: lambda command: disk.run(command.run),
            c.ReadTranscript: lambda _: disk.transcript(),
            c.ReadTail: lambda command: disk.tail(command.session_file),
            c.FindForks: lambda command: disk.forks(command.session_file),
            c.ListPanes: lambda _: herdr.panes(),
            c.ProcessInfo: lambda command: herdr.process_info(command.pane),
            c.ListSessions: lambda _: intercom.roster(),
            c.FindHolders: lambda command: machine.holders(command.session_file, command.script),
            c.Identify: lambda command: machine.identify(command.pid),
            c.ReadSession: lambda _: self._session(),
            c.WriteKey: self._write_key,
            c.ClosePane: lambda command: herdr.close(command.pane),
            c.SendIntercom: lambda command: intercom.send(command.session, command.epoch, command.text),
            c.TellLauncher: self._tell,
            c.Notify: self._notify,
            c.Pause: self._pause,
        }

    def answer(self, command: Command) -> Any:
        answer = self._answers[type(command)](command)
        if isinstance(command, c.Effect) and not isinstance(command, c.Pause):
            self._done(command, answer)
        return answer

    def _registry(self) -> frozenset[str] | Unknown:
        registry = self._link.ask("registry.read", {}, Registry)
        if isinstance(registry, Unknown):
            return registry
        return (
            frozenset(registry.ids)
            if registry.readable
            else Unknown("pi-herdr-agents' registry is not there")
        )

    def _session(self) -> SessionState | Unknown:
        state = self._link.ask("session.state", {}, State)
        return state if isinstance(state, Unknown) else SessionState(state.idle, state.compacting)

    def _write_key(self, command: c.WriteKey) -> bool | Unknown:
        """True when, and only when, the file holds one such entry more than before it was asked for (docs/design.md#keys).

        What the extension answers is no evidence: an entry whose answer was lost is as durable as any other.
        """
        before = self._count(command)
        if isinstance(before, Unknown):
            return before
        data = {command.key: command.run, **command.data}
        appended = self._link.ask("session.append", {"data": data}, str)
        answered = not isinstance(appended, Unknown)
        for _ in range(int(READ_BACK_SECONDS / READ_BACK_PAUSE) if answered else 1):
            now = self._count(command)
            if not isinstance(now, Unknown) and now > before:
                return True
            self._link.wait(READ_BACK_PAUSE)
        return False if isinstance(appended, str) else appended

    def _count(self, command: c.WriteKey) -> int | Unknown:
        """Unknown above all while the session has no file: what pi keeps in memory it may still lose (R55)."""
        transcript = self._disk.transcript()
        return transcript if isinstance(transcript, Unknown) else _count_key(transcript.keys, command)

    def _tell(self, command: c.TellLauncher) -> Result:
        params = {"id": command.id, "runs": command.runs, "text": command.text}
        said = self._link.ask("session.tell", params, str)
        if isinstance(said, Unknown):
            return Result(Outcome.FAILED if isinstance(said, Refused) else Outcome.UNKNOWN, said.why)
        if said != "told":
            # A compaction that has just begun is no failure: the next looks see that the message is not there.
            return Result(Outcome.UNKNOWN, "the session is compacting")
        self._link.wait(TAKEN_SECONDS, lambda: command.id in self._taken)
        # The extension hears of the message a moment before pi writes it.
        self._link.wait(READ_BACK_PAUSE)
        return Result(Outcome.DONE)

    def _pause(self, command: c.Pause) -> float:
        self._link.wait(command.seconds)
        return time.monotonic()

    def _notify(self, command: c.Notify) -> None:
        self._link.ask("ui.notify", {"level": command.level, "text": command.text}, bool)


def _count_key(keys: tuple[KeyEntry, ...], command: c.WriteKey) -> int:
    return Counter((entry.key, entry.run) for entry in keys)[command.key, command.run]
