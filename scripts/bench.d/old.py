"""A launcher with many old runs: a whole look, from the extension's answer to the tape, and the memory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.budget import Budget, Measured
from bench.measuring import Call, paired
from process import Place
from readers import LONG_AGO

RUNS, MANY = 1_000, 10_000
LOOKS = 100
BUDGETS = (
    IDLE := Budget(
        f"whole idle look at {RUNS:,} old runs",
        "ms",
        1.15,
        "one stat of their folder; the rest is one pass over the runs",
        beside="scandir and a stat of each, ms",
        times=True,
    ),
    WRITING := Budget(
        f"whole look at {RUNS:,} old runs while a child writes",
        "ms",
        2.0,
        "a stat of each file and reading the one that changed",
        beside="scandir and a stat of each, ms",
        times=True,
    ),
    LINEAR := Budget(
        f"whole idle look at {MANY:,} old runs",
        "ms",
        1.5,
        "as with few: what is more than its share is the processor's cache",
        beside=f"{MANY // RUNS} looks at {RUNS:,}, ms",
        times=True,
    ),
    MEMORY := Budget(
        f"resident after {LOOKS} looks at {RUNS:,} old runs, with the tape",
        "MiB",
        30.0,
        "what is known of each run",
    ),
)


def measure() -> list[Measured]:
    with tempfile.TemporaryDirectory(prefix="sb-", dir="/tmp") as folder:
        few = Place(Path(folder) / "few", RUNS, tracked=False, reported=True)
        many = Place(Path(folder) / "many", MANY, tracked=False, reported=True)
        return [*_looks(few, many), MEMORY.measured(_memory(few))]


def _looks(few: Place, many: Place) -> Iterator[Measured]:
    with few.session() as one, many.session() as other:
        for session, place in ((one, few), (other, many)):
            assert {run.state for run in session.look().runs} == {"settled"}
            session.look()
            assert len(session.look().runs) == len(place.ids)
        scan = _scan(few)
        yield IDLE.measured(*_milliseconds(one.look, scan))
        yield WRITING.measured(*_milliseconds(lambda: (_child_writes(few), one.look()), scan))
        _settle(few)
        one.look()
        yield LINEAR.measured(*_milliseconds(other.look, lambda: [one.look() for _ in range(MANY // RUNS)]))


def _milliseconds(ours: Call, beside: Call) -> tuple[float, float]:
    spent, bare = paired(ours, beside)
    return spent * 1000, bare * 1000


def _scan(place: Place) -> Call:
    folder = place.activities
    return lambda: [entry.stat(follow_symlinks=False) for entry in os.scandir(folder)]


def _child_writes(place: Place) -> None:
    """As children do: another file in its place."""
    file = place.activities / f"{place.ids[0]}.json"
    new = file.with_suffix(".tmp")
    new.write_bytes(file.read_bytes())
    new.replace(file)


def _settle(place: Place) -> None:
    for path in (place.activities / f"{place.ids[0]}.json", place.activities):
        os.utime(path, (LONG_AGO, LONG_AGO))


def _memory(place: Place) -> float:
    with place.process(interval=0.1) as process:
        for _ in range(LOOKS):
            process.look()
        return process.memory
