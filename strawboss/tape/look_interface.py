"""What a recorded look can be asked. A directory and a fixture both answer this."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

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
from strawboss.recovery.memory import Memory
from strawboss.recovery.settings import Settings
from strawboss.recovery.verdict import Unknown
from strawboss.tape.taped_look import TapedLook


class NotARecordingError(Exception):
    """What is wrong with a moment, in one line."""


class Evidence(Protocol):
    """One recorded look. `begins_with`: the memory of another process that takes it, or of a tape's segment.

    `taped`: it is on a tape, so that its answers are known in order.
    `outcomes`: how its effects end where not as asked (see `looks`).

    `later`: what is to be seen once a key was written in this look, when that is something else.
    """

    @property
    def label(self) -> str: ...
    @property
    def launcher(self) -> Launcher: ...
    @property
    def clock(self) -> Clock | None: ...
    @property
    def recorded_at(self) -> float | None: ...  # epoch seconds
    @property
    def settings(self) -> Settings: ...
    @property
    def begins_with(self) -> Memory | None: ...
    @property
    def taped(self) -> TapedLook | None: ...
    @property
    def outcomes(self) -> Mapping[str, object]: ...
    @property
    def later(self) -> Evidence | None: ...
    def registry(self) -> Registry | Unknown: ...
    def runs(self) -> Runs | Unknown: ...
    def run(self, run: str) -> RunFiles: ...
    def transcript(self) -> Transcript | Unknown: ...
    def tail(self, session_file: str) -> Tail | Unknown: ...
    def forks(self, session_file: str) -> Forks | Unknown: ...
    def holders(self, session_file: str) -> Holders | Unknown: ...
    def identify(self, pid: int) -> Identity | Unknown | None: ...
    def roster(self) -> Roster | Unknown: ...
    def panes(self) -> Panes | Unknown: ...
    def processes(self, pane: str) -> Processes | Unknown: ...
