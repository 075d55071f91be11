"""`strawboss status`: the whole command, for a user of many old launchers, and with a herdr that hangs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from bench.budget import Budget, Measured

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from standins.herdr.listener import Listener, silent
from survey.home import Home

from strawboss.recovery.conditions import is_unreported
from strawboss.recovery.memory import RunReport

LAUNCHERS, OLD_RUNS = 50, 1000
# Of the launchers: those that are looked at, and closed ones with a run of today.
WITH_PROCESS, LEFT_BEHIND = 25, 5
MONTH = 30 * 86_400.0
TIMES = 7
REPORTED = is_unreported.no("reported: a subagent_result names its session file")
HANGING = "hangs.sock"
BUDGETS = (
    QUICK := Budget(
        f"status of {LAUNCHERS} launchers with {OLD_RUNS:,} old runs each",
        "ms",
        300.0,
        "starting the command, and one small file for each launcher with a process; it waits for nothing else",
    ),
    HANGS := Budget(
        "what a herdr that hangs adds to it, on the clock", "ms", 1000.0, "the wait for its answer"
    ),
)


def measure() -> list[Measured]:
    with (
        tempfile.TemporaryDirectory(prefix="sb-", dir="/tmp") as folder,
        ExitStack() as locks,
    ):  # short: a socket
        home = Home(Path(folder))
        for number in range(LAUNCHERS):
            old_launcher(home, f"boss{number}")
        home.now = time.time()
        for number in range(WITH_PROCESS):
            looked_at(home, f"boss{number}")
            locks.enter_context(home.lock(f"boss{number}"))
        for number in range(WITH_PROCESS, WITH_PROCESS + LEFT_BEHIND):
            leave_behind(home, f"boss{number}", f"{number:08x}")
        return list(_measured(home))


def _measured(home: Home) -> Iterator[Measured]:
    quick, spent = (min(times) * 1000 for times in zip(*taken(home), strict=True))
    yield QUICK.measured(spent)
    hanging = Listener(home.directory / HANGING, silent)
    slow = min(clock for clock, _ in taken(home, HERDR_SOCKET_PATH=str(hanging.path))) * 1000
    hanging.stop()
    yield HANGS.measured(max(0.0, slow - quick))


def taken(home: Home, **environment: str) -> list[tuple[float, float]]:
    """Seconds on the clock and of the processor, of several times."""
    return [_once(home, environment) for _ in range(TIMES)]


def _once(home: Home, environment: dict[str, str]) -> tuple[float, float]:
    told = {**os.environ, **home.environment, "STRAWBOSS_STATE_DIR": str(home.state), **environment}
    began, before = time.perf_counter(), os.times()
    done = subprocess.run(
        [sys.executable, "-m", "strawboss", "status"], env=told, capture_output=True, check=False
    )
    clock, after = time.perf_counter() - began, os.times()
    first = done.stdout.decode().partition("\n")[0]
    assert (done.returncode, first) == (1, f"strawboss: {LEFT_BEHIND} need you"), done
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return clock, spent


def runs_of(name: str) -> list[str]:
    return [f"{int(name.removeprefix('boss')):03x}{number:05x}" for number in range(OLD_RUNS)]


def old_launcher(home: Home, name: str) -> None:
    """Its runs have all reported, a month ago."""
    runs = runs_of(name)
    file = home.session(name, records=tuple(home.reported(run) for run in runs))
    folder = home.sessions / "artifacts" / name
    for run in runs:
        (folder / "subagent-activity" / f"{run}.json").touch()
        (folder / "subagent-scripts" / f"beta-{run}.sh").touch()
    for path in (*folder.glob("*/*"), *folder.glob("*"), file):
        os.utime(path, (home.now - MONTH, home.now - MONTH))


def looked_at(home: Home, name: str) -> None:
    """By its process, a moment ago."""
    file = home.sessions / f"2026-12-01T21-46-26-423Z_{name}.jsonl"
    old = (RunReport(run, "Beta", "", "settled", REPORTED, stranded=False) for run in runs_of(name))
    home.looked(name, file, *old, ago=0.0)


def leave_behind(home: Home, name: str, run: str) -> None:
    """A run of today that has not reported."""
    other = Home(home.directory / "other")
    other.session(name, run)
    for part, file in (("subagent-activity", f"{run}.json"), ("subagent-scripts", f"beta-{run}.sh")):
        made = other.sessions / "artifacts" / name / part / file
        shutil.copy(made, home.sessions / "artifacts" / name / part / file)
    shutil.rmtree(other.directory)
