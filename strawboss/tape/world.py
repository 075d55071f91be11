"""The world a replay acts on: recorded evidence, over it the effects of what was done since."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from strawboss.recovery import commands as c
from strawboss.recovery.commands import Command, Outcome, Result, SessionState
from strawboss.recovery.evidence import Clock, KeyEntry, Panes, Processes, Transcript
from strawboss.recovery.verdict import Unknown
from strawboss.tape.look_interface import Evidence


@dataclass(slots=True)
class World:
    """A closed pane is gone from later looks, a sent message is delivered, keys and messages are in the session.

    `done`: the effects of the look under way with their answers, in order.
    """

    evidence: Evidence
    monotonic: float = 0.0
    keys: list[KeyEntry] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    closed: set[str] = field(default_factory=set)
    done: list[tuple[Command, Any]] = field(default_factory=list)

    def turn_to(self, evidence: Evidence, now: Clock) -> None:
        """The next look begins."""
        self.evidence, self.monotonic, self.done = evidence, now.monotonic, []

    def answer(self, command: Command) -> Any:
        answer = ANSWERS[type(command)](self, command)
        if isinstance(command, c.Effect) and not isinstance(command, c.Pause):
            self.done.append((command, answer))
        return answer

    def transcript(self) -> Transcript | Unknown:
        read = self.evidence.transcript()
        if isinstance(read, Unknown):
            return read
        return replace(read, keys=read.keys + tuple(self.keys), told=read.told + tuple(self.told))

    def panes(self) -> Panes | Unknown:
        panes = self.evidence.panes()
        return (
            panes
            if isinstance(panes, Unknown)
            else tuple(pane for pane in panes if pane.id not in self.closed)
        )

    def processes(self, pane: str) -> Processes | Unknown:
        return (
            Unknown("herdr refused: pane_not_found") if pane in self.closed else self.evidence.processes(pane)
        )

    def write_key(self, command: c.WriteKey) -> bool:
        if self.evidence.outcomes.get("key") == "failed":
            return False
        self.keys.append(KeyEntry(command.key, command.run, dict(command.data)))
        self.evidence = self.evidence.later or self.evidence
        return True

    def close(self, command: c.ClosePane) -> Result:
        """Outcome "ignored": the reply is ok, and the pane stays."""
        wanted = self._outcome("close")
        if wanted == "ignored":
            return Result(Outcome.DONE)
        if wanted is None:
            self.closed.add(command.pane)
        return _result(wanted)

    def send(self, command: c.SendIntercom) -> Result:
        roster = self.evidence.roster()
        if isinstance(roster, Unknown):
            return Result(Outcome.FAILED, roster.why)
        if all(peer.id != command.session for peer in roster):
            return Result(Outcome.FAILED, "E_TARGET_NOT_FOUND")
        return _result(self._outcome("send"))

    def tell(self, command: c.TellLauncher) -> Result:
        """Outcome "dropped": accepted, and never seen in the session."""
        wanted = self._outcome("tell")
        if wanted == "dropped":
            return Result(Outcome.DONE)
        if wanted is None:
            self.told += command.runs
        return _result(wanted)

    def pause(self, command: c.Pause) -> float:
        self.monotonic += command.seconds
        return self.monotonic

    def _outcome(self, effect: str) -> object:
        return self.evidence.outcomes.get(effect)


def _result(wanted: object) -> Result:
    if wanted is None:
        return Result(Outcome.DONE)
    return Result(Outcome.UNKNOWN if wanted == "unknown" else Outcome.FAILED, f"recorded as {wanted}")


ANSWERS: Mapping[type, Callable[[World, Any], Any]] = {
    c.ReadRegistry: lambda world, _: world.evidence.registry(),
    c.ReadRuns: lambda world, _: world.evidence.runs(),
    c.ReadRun: lambda world, command: world.evidence.run(command.run),
    c.ReadTranscript: lambda world, _: world.transcript(),
    c.ReadTail: lambda world, command: world.evidence.tail(command.session_file),
    c.FindForks: lambda world, command: world.evidence.forks(command.session_file),
    c.ListSessions: lambda world, _: world.evidence.roster(),
    c.ListPanes: lambda world, _: world.panes(),
    c.ProcessInfo: lambda world, command: world.processes(command.pane),
    c.FindHolders: lambda world, command: world.evidence.holders(command.session_file),
    c.Identify: lambda world, command: world.evidence.identify(command.pid),
    c.ReadSession: lambda world, _: SessionState(
        idle=True, compacting=world.evidence.outcomes.get("tell") == "compacting"
    ),
    c.WriteKey: World.write_key,
    c.ClosePane: World.close,
    c.SendIntercom: World.send,
    c.TellLauncher: World.tell,
    c.Notify: lambda _, __: None,
    c.Pause: World.pause,
}
