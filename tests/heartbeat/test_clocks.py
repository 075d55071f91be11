import pytest

from strawboss.heartbeat.clocks import Clocks, SleepClock, sleep_clock, slept_between, slept_since

HERE = SleepClock("boot-1", 3600.0)


def test_this_machine_says_how_long_it_slept_or_that_it_cannot():
    clock = sleep_clock()
    assert clock is None or (clock.boot and clock.slept_seconds >= 0)


def test_what_a_writer_leaves_is_what_the_monitor_compares():
    then = SleepClock("boot-1", 600.0)
    assert slept_since(then.as_extra(), HERE) == 3000


@pytest.mark.parametrize(
    "extra",
    [
        None,
        {},
        {"clock": "x"},
        {"clock": {}},
        {"clock": {"boot": "boot-1"}},
        {"clock": {"boot": "boot-1", "slept_seconds": True}},
        {"clock": {"boot": "boot-1", "slept_seconds": "1"}},
        SleepClock("boot-2", 1.0).as_extra(),
    ],
)
def test_without_that_or_after_a_reboot_it_is_unknown(extra):
    assert slept_since(extra, HERE) is None


def test_a_system_that_cannot_tell_knows_nothing():
    assert slept_since(HERE.as_extra(), None) is None


@pytest.mark.parametrize(
    ("before", "now", "slept"),
    [
        (None, Clocks(0, 0), 0),
        (Clocks(0, 0), Clocks(15, 15), 0),
        (Clocks(0, 0), Clocks(3600, 15), 3585),
        (Clocks(0, 0), Clocks(-3600, 15), 0),
        (Clocks(0, 0), Clocks(35, 15), 0),
    ],
)
def test_the_wall_clock_ahead_of_the_monotonic_one_is_sleep(before, now, slept):
    assert slept_between(before, now) == slept
