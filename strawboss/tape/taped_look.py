"""One look of a tape: what was asked and answered in it, in order, and what was known before it did anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from strawboss.recovery.evidence import (
    Clock,
    Forks,
    Holders,
    Identity,
    Launcher,
    Panes,
    Processes,
    Registry,
    Roster,
    RunFiles,
    Runs,
    Tail,
    Transcript,
)
from strawboss.recovery.memory import Memory, RunReport
from strawboss.recovery.settings import Settings
from strawboss.recovery.verdict import Unknown
from strawboss.tape.codec import NotReadableError, typed
from strawboss.tape.lines import ANSWERS

Spoken = list[Any]
FIND_HOLDERS = "FindHolders"
NOT_ASKED = Unknown("the look had no need to ask")


@dataclass(frozen=True, slots=True)
class Segment:
    """What a segment begins with. `memory`: Unknown where this version cannot read it; a look then begins with none."""

    file: Path
    launcher: Launcher
    settings: Settings
    memory: Memory | Unknown
    every: int  # milliseconds between two looks that are due
    strawboss: str = ""


@dataclass(frozen=True, slots=True)
class TapedLook:
    """`asked`: its commands, `answers` theirs, as plain data; the last command may have none.

    `before`: what was known before it did anything, by `key_of` the command; `reports`: what it said of each run, or
    the look before it where it has not `ended`, because the process did. `is_first`: of its segment.
    """

    segment: Segment
    clock: Clock
    asked: tuple[Spoken, ...] = ()
    answers: tuple[Any, ...] = ()
    before: Mapping[str, Any] = field(default_factory=dict)
    reports: Mapping[str, Any] = field(default_factory=dict)
    ended: bool = False
    is_first: bool = False

    @property
    def reported(self) -> tuple[RunReport, ...]:
        """What another version reports that cannot be read here is left out."""
        return tuple(report for one in self.reports.values() if (report := _report(one)) is not None)

    def known(self, name: str, **members: object) -> Any:
        """The answer to a command before anything was done, as the core takes it."""
        spoken = [name, members] if members else [name]
        key = key_of(spoken)
        return answer_of(spoken, self.before[key]) if key in self.before else unasked(name)

    # -- what every recorded look can be asked (`look_interface.Evidence`) ------------------------------------------

    @property
    def label(self) -> str:
        return datetime.fromtimestamp(self.clock.wall, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    @property
    def launcher(self) -> Launcher:
        return self.segment.launcher

    @property
    def settings(self) -> Settings:
        return self.segment.settings

    @property
    def begins_with(self) -> Memory | None:
        if not self.is_first:
            return None
        return self.segment.memory if isinstance(self.segment.memory, Memory) else Memory()

    @property
    def taped(self) -> TapedLook:
        return self

    @property
    def recorded_at(self) -> float:
        return self.clock.wall

    @property
    def outcomes(self) -> Mapping[str, object]:
        return {}

    @property
    def later(self) -> None:
        return None

    def registry(self) -> Registry | Unknown:
        registry: Registry | Unknown = self.known("ReadRegistry")
        return registry

    def runs(self) -> Runs | Unknown:
        runs: Runs | Unknown = self.known("ReadRuns")
        return runs

    def run(self, run: str) -> RunFiles:
        files: RunFiles = self.known("ReadRun", run=run)
        return files

    def transcript(self) -> Transcript | Unknown:
        transcript: Transcript | Unknown = self.known("ReadTranscript")
        return transcript

    def tail(self, session_file: str) -> Tail | Unknown:
        tail: Tail | Unknown = self.known("ReadTail", session_file=session_file)
        return tail

    def forks(self, session_file: str) -> Forks | Unknown:
        forks: Forks | Unknown = self.known("FindForks", session_file=session_file)
        return forks

    def holders(self, session_file: str) -> Holders | Unknown:
        """Whatever script they were asked for with."""
        asked = (
            one for one in self.asked if one[0] == FIND_HOLDERS and one[1].get("session_file") == session_file
        )
        spoken = next(asked, None)
        holders: Holders | Unknown = self.known(FIND_HOLDERS, **spoken[1]) if spoken else NOT_ASKED
        return holders

    def identify(self, pid: int) -> Identity | Unknown | None:
        identity: Identity | Unknown | None = self.known("Identify", pid=pid)
        return identity

    def roster(self) -> Roster | Unknown:
        roster: Roster | Unknown = self.known("ListSessions")
        return roster

    def panes(self) -> Panes | Unknown:
        panes: Panes | Unknown = self.known("ListPanes")
        return panes

    def processes(self, pane: str) -> Processes | Unknown:
        processes: Processes | Unknown = self.known("ProcessInfo", pane=pane)
        return processes


def key_of(spoken: Spoken) -> str:
    return repr(spoken)


def answer_of(spoken: Spoken, answer: Any) -> Any:
    """An answer as the core takes it; Unknown for one that this version cannot read."""
    try:
        return typed(answer, ANSWERS.get(str(spoken[0])))
    except NotReadableError as error:
        return unasked(str(spoken[0]), Unknown(f"the tape has an answer that cannot be read: {error}"))


def unasked(name: str, why: Unknown = NOT_ASKED) -> Any:
    """The answer that tells nothing, to the command of that name."""
    return RunFiles(why, why, why, why) if name == "ReadRun" else why


def _report(written: Any) -> RunReport | None:
    try:
        report: RunReport = typed(written, RunReport)
    except NotReadableError:
        return None
    return report
