"""Desks whose looks are written on a tape as a process writes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from recovery.desk import Desk

from strawboss.recovery.commands import Command
from strawboss.recovery.look import look_at_runs
from strawboss.recovery.memory import Look
from strawboss.tape.reader import read_session
from strawboss.tape.shelf import Limits
from strawboss.tape.taped_look import TapedLook
from strawboss.tape.writer import Tape

SESSION = "boss"


class Taped:
    """A desk and its tape. `complaints`: why the tape ended, if it did."""

    def __init__(self, shelf: Path, desk: Desk, limits: Limits | None = None) -> None:
        self.shelf, self.desk, self.complaints = shelf, desk, list[str]()
        self._limits, self.session_name = limits or Limits(), SESSION
        self.restart()

    @property
    def session(self) -> Path:
        return self.shelf / self.session_name

    def restart(self) -> None:
        """Another process."""
        self.desk.restart()
        self.tape = Tape(
            self.shelf,
            self.session_name,
            self._limits,
            self.desk.launcher,
            self.desk.settings,
            self.complaints.append,
        )

    def look(self) -> Look:
        with self.on_tape():
            return self.desk.look()

    def looks(self, times: int) -> Look:
        return [self.look() for _ in range(times)][-1]

    @contextmanager
    def on_tape(self) -> Iterator[None]:
        def taped(launcher: Any, settings: Any, memory: Any, now: Any) -> Any:
            return self.tape.record(look_at_runs(launcher, settings, memory, now), memory, now)

        with mock.patch("recovery.desk.look_at_runs", taped):
            yield

    def read(self) -> list[TapedLook]:
        return list(read_session(self.session))

    def segments(self) -> list[Path]:
        return sorted(self.session.glob("*.jsonl"))

    def size(self) -> int:
        return sum(file.stat().st_size for file in self.segments())


def names(look: TapedLook) -> list[str]:
    return [str(spoken[0]) for spoken in look.asked]


def commands(desk: Desk) -> list[Command]:
    return desk.said
