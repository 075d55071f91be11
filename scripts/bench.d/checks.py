"""What a check may cost: an idle one with healthy runs and with old ones, and a busy one with something stranded."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
from readers import best, launcher_with_runs

from strawboss.recovery.commands import Command, ListPanes, ListSessions, ProcessInfo
from strawboss.recovery.evidence import Clock
from strawboss.recovery.look import look_at_runs
from strawboss.recovery.memory import Look, Memory
from strawboss.recovery.settings import LOOK_SECONDS, Settings
from strawboss.tape.cases import open_fixture
from strawboss.tape.world import World

Measured = tuple[str, float, float, float]

SOCKETS = (ListPanes, ListSessions, ProcessInfo)
LAUNCHER = {"id": "boss", "name": "", "file": "/s/boss.jsonl", "cwd": "/w"}


def measure() -> list[Measured]:
    with tempfile.TemporaryDirectory() as folder:
        return [*_idle(Path(folder)), *_old(Path(folder)), *_busy(Path(folder))]


def _idle(folder: Path) -> list[Measured]:
    healthy = Driver(fixture(folder, runs(20, "active"), tracked=True))
    healthy.look()
    spent = healthy.cheapest()
    return [
        ("idle check, 20 runs (socket calls; one would be over)", sockets_of(healthy.asked), 1.0, 0.0),
        ("idle check, 20 runs, without the disk (ms of CPU, against 1 ms)", spent * 1000, 1.0, 1.0),
    ]


def _old(folder: Path) -> list[Measured]:
    """The whole check, disk included, of a launcher whose runs have all reported."""
    disk = launcher_with_runs(folder / "old", 1000)
    old = Driver(fixture(folder, runs(1000, "waiting"), tracked=False, reported=True))
    old.evidence = replace(old.evidence, known_runs=disk.runs())
    old.look()

    def check_with_disk() -> None:
        old.evidence = replace(old.evidence, known_runs=disk.runs())
        old.look()

    activities = folder / "old" / "artifacts" / "subagent-activity"
    bare = best(lambda: [entry.stat(follow_symlinks=False) for entry in os.scandir(activities)])
    return [
        (
            "whole idle check, 1,000 old runs, against a scandir and stat (ms)",
            best(check_with_disk) * 1000,
            bare * 1000,
            2.0,
        )
    ]


def _busy(folder: Path) -> list[Measured]:
    many, one = (Driver(fixture(folder, runs(count, "waiting"), tracked=False)) for count in (10, 1))
    many.look()
    one.look()
    return [
        ("busy check, 10 stranded (pane lists a look)", many.asked[ListPanes], 1.0, 1.0),
        (
            "busy check, 1 stranded (socket calls, against 1 list + 1 process-info + 1 roster)",
            sockets_of(one.asked),
            3.0,
            1.0,
        ),
    ]


class Driver:
    """A process without its loop: looks at one world again and again, and counts what it asks."""

    def __init__(self, path: Path) -> None:
        self.evidence = open_fixture(path)[0]
        self.memory, self.number = Memory(), 0
        self.asked: Counter[type] = Counter()

    def look(self) -> Look:
        self.number += 1
        world = World(self.evidence)
        now = Clock(self.number * LOOK_SECONDS, self.number * LOOK_SECONDS)
        steps = look_at_runs(self.evidence.launcher, Settings(), self.memory, now)
        answer: Any = None
        while True:
            try:
                command: Command = steps.send(answer)
            except StopIteration as end:
                self.memory = end.value.memory
                return end.value
            self.asked[type(command)] += 1
            answer = world.answer(command)

    def cheapest(self) -> float:
        """Seconds of CPU of the cheapest of several looks; `asked` counts what all of them asked for."""
        self.asked.clear()
        return best(self.look)


def sockets_of(asked: Counter[type]) -> float:
    return float(sum(asked[kind] for kind in SOCKETS))


def runs(count: int, phase: str) -> dict[str, str]:
    return {f"{number:08x}": phase for number in range(count)}


def fixture(folder: Path, phases: dict[str, str], *, tracked: bool, reported: bool = False) -> Path:
    """A fixture file of children that run their scripts, each in a pane of its own with a pi-intercom session."""
    numbers = {run: number for number, run in enumerate(phases, 1)}
    look = {
        "registry": list(phases) if tracked else [],
        "runs": {
            run: {"phase": phase, "latest_event": "agent_end", "updated_at": 0.0}
            for run, phase in phases.items()
        },
        "files": {run: {"script": script(run, number)} for run, number in numbers.items()},
        "transcript": {"results": [session(run) for run in phases] if reported else []},
        "panes": [pane(run, number) for run, number in numbers.items()],
        "processes": {f"w1:p{number}": processes(run, number) for run, number in numbers.items()},
        "roster": [
            {"id": "boss", "pid": 1, "status": "idle"},
            *(peer(number) for number in numbers.values()),
        ],
    }
    path = folder / "looks.json"
    path.write_bytes(msgspec.json.encode({"launcher": LAUNCHER, "looks": [look]}))
    return path


def session(run: str) -> str:
    return f"/s/2026_{run}-1-1-1.jsonl"


def script(run: str, number: int) -> dict[str, object]:
    return {
        "path": f"/s/artifacts/boss/subagent-scripts/a-{run}.sh",
        "name": run,
        "session_file": session(run),
        "surface": f"w1:p{number}",
        "auto_exit": False,
        "persistent": False,
    }


def pane(run: str, number: int) -> dict[str, object]:
    return {
        "id": f"w1:p{number}",
        "terminal": f"t{number}",
        "agent": "pi",
        "status": "idle",
        "session": session(run),
    }


def processes(run: str, number: int) -> list[dict[str, object]]:
    bash = {"pid": 2 * number + 100, "argv": ["bash", f"/s/artifacts/boss/subagent-scripts/a-{run}.sh"]}
    return [bash, {"pid": 2 * number + 101, "argv": ["pi"]}]


def peer(number: int) -> dict[str, object]:
    return {"id": f"peer {number}", "pid": 2 * number + 101, "status": "idle"}
