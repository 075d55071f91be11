"""Keeps the looks of one session start in files as they are taken. A tape that cannot be written ends; the look goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from strawboss.recovery.evidence import Clock, Launcher
from strawboss.recovery.memory import Look, Memory, RunReport
from strawboss.recovery.settings import Settings
from strawboss.system.files import make_private_directory
from strawboss.tape.last import encode_last
from strawboss.tape.lines import encode
from strawboss.tape.look_lines import LEAVING, Recorder, Steps
from strawboss.tape.shelf import LAST, Limits, Segment, prune, replace_unsynced

# What a defect of the tape, or a value it does not know, may raise. An end of the process is none of these.
OWN_FAULTS = (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError)


class Tape:
    """`shelf`: the directory of all tapes. `complain` is told once why the tape ended, if it did."""

    def __init__(
        self,
        shelf: Path,
        session: str,
        limits: Limits,
        launcher: Launcher,
        settings: Settings,
        complain: Callable[[str], None],
    ) -> None:
        self._shelf, self._session, self._limits = shelf, shelf / session, limits
        self._launcher, self._settings, self._complain = launcher, settings, complain
        self._recorder = Recorder(self._put)
        self._segment: Segment | None = None
        self._room = 0  # bytes that the segment may still take
        self._reported: tuple[RunReport, ...] | None = None
        self._ended = limits.session == 0

    def record(self, steps: Steps, memory: Memory, now: Clock) -> Steps:
        """The same look, written down on its way: before each of its effects, and at its end."""
        if self._ended:
            return (yield from steps)
        self._guard(self._begin, memory, now)
        asked, answers = self._recorder.under_way()
        answer: Any = None
        while True:
            try:
                command = steps.send(answer)
            except StopIteration as end:
                look: Look = end.value
                self._guard(self._end, look)
                return look
            asked.append(command)
            if type(command) in LEAVING:
                self._guard(self._recorder.flush)
            answer = yield command
            answers.append(answer)

    def close(self) -> None:
        """Nothing is lost with it: all that was recorded is handed over."""
        if self._segment is not None:
            segment, self._segment = self._segment, None
            segment.close()

    def _guard(self, write: Callable[..., None], *what: Any) -> None:
        if self._ended:
            return
        try:
            write(*what)
        except OWN_FAULTS as fault:
            self._ended = True
            why = fault.strerror if isinstance(fault, OSError) else None
            self._complain(why or f"{type(fault).__name__}: {fault}")
            self.close()

    def _begin(self, memory: Memory, now: Clock) -> None:
        if self._segment is None or self._room < 0 or not self._segment.is_there():
            self._begin_segment(memory)
        self._recorder.begin(now)

    def _begin_segment(self, memory: Memory) -> None:
        """Looks have the same room in it however large the memory is that it begins with."""
        make_private_directory(self._shelf)
        beginning = encode(self._recorder.beginning(self._launcher, self._settings, memory))
        size = len(beginning) + self._limits.segment
        if size > self._limits.session:
            raise ValueError("what a segment begins with takes the room of a whole tape")
        prune(self._shelf, self._session, self._limits, size)
        self.close()
        self._segment = Segment(self._session)
        self._segment.append(beginning)
        self._room = self._limits.segment

    def _end(self, look: Look) -> None:
        self._recorder.end(look)
        if look.runs != self._reported:
            replace_unsynced(self._session / LAST, encode_last(self._launcher, look.runs))
            self._reported = look.runs

    def _put(self, line: Any) -> None:
        content = encode(line)
        assert self._segment is not None
        self._segment.append(content)
        self._room -= len(content)
