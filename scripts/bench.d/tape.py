"""The tape: a quiet hour, a busy look, and reading it."""

from __future__ import annotations

import itertools
import os
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.budget import Budget, Measured
from bench.measuring import best, difference, paired
from checks import SOCKETS, Driver, fixture, runs
from readers import launcher_with_runs

from strawboss.recovery.commands import Command, FindForks, ReadRun, ReadRuns, ReadTail, ReadTranscript
from strawboss.recovery.evidence import Activity, Clock, KeyEntry
from strawboss.recovery.look import look_at_runs
from strawboss.recovery.memory import Look, Memory
from strawboss.recovery.settings import LOOK_SECONDS, Settings
from strawboss.tape.last import last_looks
from strawboss.tape.reader import read_session
from strawboss.tape.shelf import Limits
from strawboss.tape.world import World
from strawboss.tape.writer import Tape

HOUR = 240  # looks
TIMES = 200
LAUNCHERS, OLD_RUNS = 50, 1000
BUDGETS = (
    BYTES := Budget(
        "a quiet hour on tape, 20 runs", "bytes", 2000, "a number of milliseconds and a newline for each look"
    ),
    TIME := Budget(
        "a quiet hour on tape, 20 runs: time", "ms", 20.0, "opening, writing and closing a file for each look"
    ),
    BUSY := Budget(
        "busy look with its tape, 20 stranded runs",
        "ms",
        1.05,
        "finding what changed, and one line of JSON before each effect",
        beside="the same look without, ms",
        times=True,
    ),
    LAST := Budget(
        f"last looks of {LAUNCHERS} launchers, {OLD_RUNS:,} old runs each",
        "ms",
        300.0,
        "decoding one small file a launcher",
    ),
    READ := Budget(f"a tape of {TIMES} busy looks read", "ms", 1000.0, "decoding its lines"),
)


def measure() -> list[Measured]:
    with tempfile.TemporaryDirectory(prefix="sb-", dir="/tmp") as folder:
        return [*_quiet(Path(folder)), *_busy(Path(folder)), *_reading(Path(folder))]


def _quiet(folder: Path) -> Iterator[Measured]:
    path = fixture(folder, runs(20, "waiting"), tracked=True)
    plain, taped = Taped(folder, "", path), Taped(folder, "quiet", path)
    for _ in range(20):
        plain.look()
        taped.look()
    before = taped.size()
    more = difference(taped.look, plain.look, HOUR)
    yield BYTES.measured(float(taped.size() - before))
    yield TIME.measured(more * HOUR * 1000)


def _busy(folder: Path) -> Iterator[Measured]:
    """Each look with news, and with the reads and calls as they are made."""
    outside, path = Outside(folder), fixture(folder, runs(20, "waiting"), tracked=False)
    plain, taped = Taped(folder, "", path, outside), Taped(folder, "busy", path, outside)
    ours, bare = paired(taped.news_and_look, plain.news_and_look, TIMES)
    yield BUSY.measured(ours * 1000, bare * 1000)


def _reading(folder: Path) -> Iterator[Measured]:
    old = Taped(folder, "old", fixture(folder, runs(OLD_RUNS, "waiting"), tracked=False, reported=True))
    old.look()
    for number in range(LAUNCHERS - 1):
        (folder / "tapes" / f"copy{number}").mkdir()
        for file in (folder / "tapes" / "old").iterdir():
            os.link(file, folder / "tapes" / f"copy{number}" / file.name)
    yield LAST.measured(best(lambda: list(last_looks(folder / "tapes")), 5) * 1000)
    yield READ.measured(best(lambda: list(read_session(folder / "tapes" / "busy")), 5) * 1000)


class Taped(Driver):
    """A driver whose looks are on tape, unless `session` is empty, and whose questions go over a socket first."""

    def __init__(self, folder: Path, session: str, path: Path, outside: Outside | None = None) -> None:
        super().__init__(path)
        limits, launcher = Limits(session=0 if not session else Limits().session), self.evidence.launcher
        self._directory, self._outside = folder / "tapes" / session, outside
        self._tape = Tape(folder / "tapes", session or "none", limits, launcher, Settings(), _fail)
        self._news = itertools.count()
        seen = tuple(
            KeyEntry("seen", run, {"terminal": f"t{number}"})
            for number, run in enumerate(self.evidence.runs(), 1)
        )
        self.evidence = replace(
            self.evidence, known_transcript=replace(self.evidence.transcript(), keys=seen)
        )

    def size(self) -> int:
        return sum(file.stat().st_size for file in self._directory.glob("*.jsonl"))

    def news_and_look(self) -> None:
        number = next(self._news)
        known = dict(self.evidence.runs())
        known[f"{number % 20:08x}"] = Activity("waiting", "agent_end", float(number))
        self.evidence = replace(self.evidence, known_runs=known)
        self.memory = Memory()  # as if nothing had been done for any of them yet
        self.look()

    def look(self) -> Look:
        self.number += 1
        world = World(self.evidence)
        now = Clock(self.number * LOOK_SECONDS, self.number * LOOK_SECONDS)
        look = look_at_runs(self.evidence.launcher, Settings(), self.memory, now)
        steps = self._tape.record(look, self.memory, now)
        answer: Any = None
        while True:
            try:
                command = steps.send(answer)
            except StopIteration as end:
                self.memory = end.value.memory
                return end.value
            if self._outside is not None:
                self._outside.ask(command)
            answer = world.answer(command)


def _fail(why: str) -> None:
    raise AssertionError(why)


class Outside:
    """What a busy look also waits for: the disk, and a neighbour that answers at once. Its answers are not used."""

    def __init__(self, folder: Path) -> None:
        self._disk, self._address = launcher_with_runs(folder / "disk", 20), folder / "s"
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self._address))
        self._listening.listen()
        threading.Thread(target=self._serve, daemon=True).start()
        self._reads: dict[type, Callable[[Any], object]] = {
            ReadRuns: lambda _: self._disk.runs(),
            ReadRun: lambda command: self._disk.run(command.run),
            ReadTranscript: lambda _: self._disk.transcript(),
            ReadTail: lambda command: self._disk.tail(command.session_file),
            FindForks: lambda command: self._disk.forks(command.session_file),
            **dict.fromkeys(SOCKETS, lambda _: self._call()),
        }

    def ask(self, command: Command) -> None:
        if type(command) in self._reads:
            self._reads[type(command)](command)

    def _call(self) -> None:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self._address))
            connection.sendall(b"x" * 200)
            connection.recv(4096)

    def _serve(self) -> None:
        while True:
            connection, _ = self._listening.accept()
            with connection:
                connection.sendall(connection.recv(4096))
