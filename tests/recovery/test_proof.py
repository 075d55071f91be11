"""Two looks in a row, an interval apart, the same thing; then the miss that gives up. The same for every machine."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strawboss.recovery.evidence import Clock
from strawboss.recovery.look import MACHINES
from strawboss.recovery.machine import Machine
from strawboss.recovery.proof import EARLY, PROVING, Proof, Stage
from strawboss.recovery.verdict import Named

OBSTACLE = Named("test.it_is_there", "it is there").no("it is not")
LAST_MISS = 5
INTERVAL = 15.0


def at(seconds: float) -> Clock:
    return Clock(1e9, seconds)


def found(proof: Proof, what: str, seconds: float) -> Proof:
    return proof.take_found(PROVING, what, at(seconds), INTERVAL)


def not_found(proof: Proof, *, missed: bool) -> Proof:
    return proof.take_obstacle(PROVING, OBSTACLE, LAST_MISS, missed=missed)


@pytest.mark.parametrize(
    ("looks", "state"),
    [
        ([(0, "a")], Stage.FOUND_ONCE),
        ([(0, "a"), (15, "a")], Stage.FOUND_TWICE),
        ([(0, "a"), (14, "a")], Stage.FOUND_TWICE),  # timers are not exact
        ([(0, "a"), (EARLY * INTERVAL, "a")], Stage.FOUND_TWICE),
        ([(0, "a"), (EARLY * INTERVAL - 0.1, "a")], Stage.FOUND_ONCE),
        ([(0, "a"), (5, "a"), (10, "a")], Stage.FOUND_ONCE),
        ([(0, "a"), (5, "a"), (15, "a")], Stage.FOUND_TWICE),
        ([(0, "a"), (15, "b")], Stage.FOUND_ONCE),
        ([(0, "a"), (15, "b"), (30, "a")], Stage.FOUND_ONCE),
        ([(0, "a"), (15, "b"), (30, "b")], Stage.FOUND_TWICE),
        ([(100, "a"), (15, "a")], Stage.FOUND_ONCE),  # a clock that goes backwards proves nothing
    ],
)
def test_the_same_thing_at_two_looks_an_interval_apart_is_found_twice(
    looks: list[tuple[float, str]], state: str
) -> None:
    proof = Proof()
    for seconds, what in looks:
        proof = found(proof, what, seconds)
    assert proof.state == state


def test_a_look_that_found_nothing_in_between_starts_over() -> None:
    proof = not_found(found(Proof(), "a", 0), missed=False)
    assert (proof.state, proof.obstacle) == (Stage.WATCHING, OBSTACLE)
    assert found(proof, "a", 30).state == Stage.FOUND_ONCE


def test_the_last_miss_gives_up_and_none_before_it() -> None:
    proof = Proof()
    for _ in range(LAST_MISS - 1):
        proof = not_found(proof, missed=True)
        assert proof.state == Stage.WATCHING
    assert not_found(proof, missed=True).state == Stage.GIVEN_UP


def test_a_look_that_is_no_miss_never_gives_up() -> None:
    proof = Proof()
    for _ in range(100):
        proof = not_found(proof, missed=False)
    assert proof.state == Stage.WATCHING


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_every_machine_begins_with_the_proof(machine: Machine) -> None:
    assert machine.table.items() >= PROVING.items()


def test_what_the_keys_say_outlives_what_was_found() -> None:
    proof = found(Proof(), "a", 0)
    assert proof.stands_at(Stage.FOUND_ONCE) is proof
    assert proof.stands_at("closing") == Proof("closing")


@given(looks=st.lists(st.sampled_from(["found", "missed", "other"]), max_size=30))
def test_found_twice_needs_two_finds_in_a_row_whatever_came_before(looks: list[str]) -> None:
    proof, before = Proof(), ""
    for number, what in enumerate(looks):
        is_found = what == "found"
        proof = found(proof, "a", 15.0 * number) if is_found else not_found(proof, missed=what == "missed")
        if proof.state == Stage.FOUND_TWICE:
            assert (before, what) == ("found", "found")
        if proof.state in {Stage.FOUND_TWICE, Stage.GIVEN_UP}:
            return
        before = what
