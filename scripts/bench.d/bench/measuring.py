"""Ways to measure that bear other work on the machine: in turns, the middle of many, the processor's time."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

Call = Callable[[], object]
Clock = Callable[[], float]


def seconds(work: Call, clock: Clock = time.process_time) -> float:
    """Of the processor: files are in the page cache, and what else runs on the machine must not count."""
    started = clock()
    work()
    return clock() - started


def best(work: Call, times: int = 30) -> float:
    """The fastest of several runs, in seconds of the processor."""
    return min(seconds(work) for _ in range(times))


def paired(
    ours: Call, beside: Call, times: int = 30, clock: Clock = time.process_time
) -> tuple[float, float]:
    """Seconds of both, taken in turns: the median of what is beside, and the median of the pairs' ratios times it."""
    pairs = [(seconds(ours, clock), seconds(beside, clock)) for _ in range(times)]
    middle = median(other for _, other in pairs)
    return middle * median(one / other for one, other in pairs), middle


def difference(ours: Call, beside: Call, times: int = 30) -> float:
    """By how many seconds of the processor the one is dearer, in the middle of many pairs; at least 0."""
    return max(0.0, median(seconds(ours) - seconds(beside) for _ in range(times)))
