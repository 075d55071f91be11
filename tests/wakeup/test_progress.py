from __future__ import annotations

import pytest

from strawboss.wakeup import progress as module
from strawboss.wakeup.progress import Progress


class Time:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    clock = Time()
    monkeypatch.setattr(module.time, "monotonic", clock.monotonic)
    return clock


@pytest.fixture
def progress(time: Time) -> Progress:
    return Progress(time.now, _measured=time.now)


def test_a_command_that_shows_nothing_is_quiet_since_it_started(progress: Progress, time: Time) -> None:
    time.now += 60
    progress.hear(0)
    progress.measure(0.0)
    assert progress.quiet == 60


def test_output_is_progress_and_the_same_output_is_not(progress: Progress, time: Time) -> None:
    time.now += 60
    progress.hear(10)
    assert progress.quiet == 0
    time.now += 60
    progress.hear(10)
    assert progress.quiet == 60


@pytest.mark.parametrize(("used", "works"), [(0.0, False), (0.6, False), (0.62, True), (60.0, True)])
def test_cpu_time_is_progress_from_one_hundredth_of_a_cpu_and_a_tick_on(
    progress: Progress, time: Time, used: float, works: bool
) -> None:
    progress.measure(5.0)  # what it had used when first measured is no news, whatever it was
    time.now += 60
    progress.measure(5.0 + used)
    assert (progress.quiet == 0) is works


def test_a_part_of_the_tree_that_has_left_is_no_progress(progress: Progress, time: Time) -> None:
    progress.measure(5.0)
    time.now += 60
    progress.measure(1.0)
    assert progress.quiet == 60
    time.now += 60
    progress.measure(3.0)
    assert progress.quiet == 0


def test_what_is_seen_otherwise_is_progress(progress: Progress, time: Time) -> None:
    time.now += 60
    progress.see()
    assert progress.quiet == 0
