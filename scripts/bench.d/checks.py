"""One check: what an idle one costs, and what a busy one asks for."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from bench.budget import Budget, Measured
from bench.measuring import best

from strawboss.recovery.commands import Command, ListPanes, ListSessions, ProcessInfo
from strawboss.recovery.evidence import Clock
from strawboss.recovery.look import look_at_runs
from strawboss.recovery.memory import Look, Memory
from strawboss.recovery.settings import LOOK_SECONDS, Settings
from strawboss.tape.cases import open_fixture
from strawboss.tape.world import World

SOCKETS = (ListPanes, ListSessions, ProcessInfo)
LAUNCHER = {"id": "boss", "name": "", "file": "/s/boss.jsonl", "cwd": "/w"}


BUDGETS = (
    IDLE_CALLS := Budget(
        "idle check, 20 healthy runs", "socket calls", 0, "nothing is asked for runs that are noted"
    ),
    IDLE := Budget("idle check, 20 healthy runs, without the disk", "ms", 1.0, "one pass over the runs"),
    MANY := Budget("busy check, 10 stranded runs", "pane lists", 1, "one list answers for all"),
    ONE := Budget(
        "busy check, 1 stranded run", "socket calls", 3, "one roster, one pane list, one process-info"
    ),
)


def measure() -> list[Measured]:
    with tempfile.TemporaryDirectory() as folder:
        return [*_idle(Path(folder)), *_busy(Path(folder))]


def _idle(folder: Path) -> Iterator[Measured]:
    healthy = Driver(fixture(folder, runs(20, "active"), tracked=True))
    healthy.look()
    spent = healthy.cheapest()
    yield IDLE_CALLS.measured(sockets_of(healthy.asked))
    yield IDLE.measured(spent * 1000)


def _busy(folder: Path) -> Iterator[Measured]:
    many, one = (Driver(fixture(folder, runs(count, "waiting"), tracked=False)) for count in (10, 1))
    many.look()
    one.look()
    yield MANY.measured(many.asked[ListPanes])
    yield ONE.measured(sockets_of(one.asked))


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
