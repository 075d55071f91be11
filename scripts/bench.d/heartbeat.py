"""The heartbeat contract: a sweep of many records."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from bench.budget import Budget, Measured
from bench.measuring import paired

from strawboss.heartbeat.record import Beat
from strawboss.heartbeat.sweep import sweep
from strawboss.heartbeat.utc import utc_now

RECORDS = 10_000
TIMES = 5
BUDGETS = (
    SWEEP := Budget(
        f"sweep of {RECORDS:,} heartbeats",
        "s",
        2.0,
        "reading and decoding each record once; the rest is judging it",
        beside="open and json.loads of each, s",
        times=True,
    ),
)


def measure() -> list[Measured]:
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder))
        return [SWEEP.measured(*paired(lambda: _judge(folder), lambda: _parse(folder), TIMES))]


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
