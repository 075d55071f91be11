"""Two looks in a row, an interval apart, the same thing; four misses, eight misses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recovery.given import SETTINGS

from strawboss.recovery import nudge, restored
from strawboss.recovery.acts import proof
from strawboss.recovery.evidence import Clock
from strawboss.recovery.watch import NEW, Watch


def at(seconds: float) -> Clock:
    return Clock(1e9, seconds)


MACHINES: dict[str, tuple[Callable[..., Watch], Callable[..., Watch], Callable[[Watch], Any], Any, int]] = {
    "nudge": (
        proof.found_for_nudge,
        proof.not_found_for_nudge,
        lambda watch: watch.nudge,
        nudge.State,
        nudge.MISSES,
    ),
    "restored": (
        proof.found_restored,
        proof.not_found_restored,
        lambda watch: watch.restored,
        restored.State,
        restored.MISSES,
    ),
}
each_machine = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)


@each_machine
@pytest.mark.parametrize(
    ("looks", "state"),
    [
        ([(0, "a")], "FOUND_ONCE"),
        ([(0, "a"), (15, "a")], "FOUND_TWICE"),
        ([(0, "a"), (14, "a")], "FOUND_TWICE"),  # timers are not exact
        ([(0, "a"), (13.5, "a")], "FOUND_TWICE"),
        ([(0, "a"), (13, "a")], "FOUND_ONCE"),
        ([(0, "a"), (5, "a"), (10, "a")], "FOUND_ONCE"),
        ([(0, "a"), (5, "a"), (15, "a")], "FOUND_TWICE"),
        ([(0, "a"), (15, "b")], "FOUND_ONCE"),
        ([(0, "a"), (15, "b"), (30, "a")], "FOUND_ONCE"),
        ([(0, "a"), (15, "b"), (30, "b")], "FOUND_TWICE"),
        ([(100, "a"), (15, "a")], "FOUND_ONCE"),  # a clock that goes backwards proves nothing
    ],
)
def test_the_same_thing_at_two_looks_an_interval_apart_is_found_twice(
    machine: Any, looks: list[tuple[float, str]], state: str
) -> None:
    found, _, state_of, states, _ = machine
    watch = NEW
    for seconds, what in looks:
        watch = found(watch, what, at(seconds), SETTINGS)
    assert state_of(watch) is states[state]


@each_machine
def test_a_look_that_found_nothing_in_between_starts_over(machine: Any) -> None:
    found, not_found, state_of, states, _ = machine
    watch = not_found(found(NEW, "a", at(0), SETTINGS), missed=False)
    assert state_of(watch) is states.WATCHING
    assert state_of(found(watch, "a", at(30), SETTINGS)) is states.FOUND_ONCE


@each_machine
def test_the_last_miss_gives_up_and_none_before_it(machine: Any) -> None:
    _, not_found, state_of, states, most = machine
    watch = NEW
    for _ in range(most - 1):
        watch = not_found(watch, missed=True)
        assert state_of(watch) is states.WATCHING
    assert state_of(not_found(watch, missed=True)) is states.GIVEN_UP


def test_the_counts_are_four_and_eight() -> None:
    assert (nudge.MISSES, restored.MISSES) == (4, 8)


@each_machine
def test_a_look_that_is_no_miss_never_gives_up(machine: Any) -> None:
    _, not_found, state_of, states, _ = machine
    watch = NEW
    for _ in range(100):
        watch = not_found(watch, missed=False)
    assert state_of(watch) is states.WATCHING


@each_machine
@given(looks=st.lists(st.sampled_from(["found", "missed", "other"]), max_size=30))
def test_found_twice_needs_two_finds_in_a_row_whatever_came_before(machine: Any, looks: list[str]) -> None:
    found, not_found, state_of, states, _ = machine
    watch, before = NEW, ""
    for number, what in enumerate(looks):
        if what == "found":
            watch = found(watch, "a", at(15.0 * number), SETTINGS)
        else:
            watch = not_found(watch, missed=what == "missed")
        if state_of(watch) is states.FOUND_TWICE:
            assert (before, what) == ("found", "found")
        if state_of(watch) in {states.FOUND_TWICE, states.GIVEN_UP}:
            return
        before = what
