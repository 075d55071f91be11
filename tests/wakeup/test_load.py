"""Many processes at one store: each task once, none lost, whoever dies in between."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from strawboss.wakeup.store import tasks
from strawboss.wakeup.store.database import Database
from strawboss.wakeup.store.tasks import NewTask, Status

pytestmark = pytest.mark.slow

STAMPEDE = Path(__file__).with_name("stampede.py")


def fill(database: Database, count: int, kinds: int) -> set[str]:
    news = (
        NewTask(f"task {number}", "boss", capabilities=frozenset({f"kind {number % kinds}"}))
        for number in range(count)
    )
    with database.write() as connection:
        return {tasks.add(connection, new, time.time()) for new in news}


def stampede(workers: int, kinds: int, lease: float, log: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, str(STAMPEDE), str(workers), str(kinds), str(lease), str(log)])


def test_32_processes_take_2000_tasks_each_exactly_once(database: Database, tmp_path: Path) -> None:
    added = fill(database, 2000, kinds=8)
    assert stampede(32, 8, 600.0, tmp_path / "log").wait(300) == 0
    lines = (tmp_path / "log").read_text().splitlines()
    taken = Counter(line.split()[1] for line in lines if line.endswith("taken"))
    assert set(taken) == added
    assert set(taken.values()) == {1}
    with database.read() as connection:
        found = tasks.listed(connection)
    assert {(task.status, task.attempts) for task in found} == {(Status.COMPLETE, 1)}


def test_tasks_of_processes_killed_at_random_are_done_by_the_others_and_stored_once(
    database: Database, tmp_path: Path, until: Callable[..., object]
) -> None:
    added, log, chance = fill(database, 120, kinds=1), tmp_path / "log", random.Random(4)
    herd = stampede(8, 1, 0.5, log)
    for victims in range(1, 6):
        until(lambda: log.exists() and len(log.read_text().splitlines()) > 8 * victims, "work to go on")  # noqa: B023
        alive = {int(line.split()[0]) for line in log.read_text().splitlines()[-8:]}
        victim = chance.choice(sorted(alive))
        if Path(f"/proc/{victim}").exists():
            os.kill(victim, signal.SIGKILL)
    assert herd.wait(300) == 0
    done = [line.split()[1] for line in log.read_text().splitlines() if line.endswith("stored")]
    assert set(done) <= added
    with database.read() as connection:
        found = tasks.listed(connection)
    complete = {task.id for task in found if task.status is Status.COMPLETE}
    assert complete == added
    # Killed between storing and writing its line, a worker leaves no line; nobody ever stores a second time.
    assert max(Counter(done).values()) == 1
