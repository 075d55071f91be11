"""What a sweep of many heartbeats costs beside opening and parsing the same files."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from strawboss.heartbeat.record import Beat
from strawboss.heartbeat.sweep import sweep
from strawboss.heartbeat.utc import utc_now

RECORDS = 10_000
ROUNDS = 5
BUDGET = 2.0


def measure() -> list[tuple[str, float, float, float]]:
    """Best of several rounds each, taken in turns: other work on the machine hits both alike."""
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder))
        ours, bare = [], []
        for _ in range(ROUNDS):
            ours.append(_seconds(lambda: _judge(folder)))
            bare.append(_seconds(lambda: _parse(folder)))
    return [
        (f"sweep of {RECORDS:,} heartbeats, against open and json.loads (s)", min(ours), min(bare), BUDGET)
    ]


def _write(folder: Path) -> None:
    now = utc_now()
    for number in range(RECORDS):
        name = f"leaf-{number}"
        beat = Beat(name, "run-42", "polling", "poll 3 of 20", pr_number=number + 1, wait_kind="pr:watch")
        (folder / f"{name}.json").write_text(json.dumps(beat.content(now), indent=2))


def _judge(folder: str) -> None:
    swept = sweep([folder], utc_now())
    assert swept.all_ok
    assert len(swept.records) == RECORDS


def _parse(folder: str) -> None:
    for entry in os.scandir(folder):
        with open(entry.path) as file:  # noqa: PTH123 - the bare loop, without pathlib's own cost
            json.loads(file.read())


def _seconds(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
