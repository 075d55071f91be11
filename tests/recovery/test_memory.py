from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from recovery.given import key

from strawboss.recovery.evidence import Clock, KeyEntry
from strawboss.recovery.look import MACHINES
from strawboss.recovery.memory import NEW, Memory, RunMemory, count_keys
from strawboss.recovery.proof import Proof, Stage
from strawboss.recovery.verdict import Named

OBSTACLE = Named("any", "any").no("so it is")
KEYS = st.lists(st.sampled_from([key("seen"), key("nudged"), key("seen", "b1b2c3d4")]), max_size=6)


def test_the_first_look_has_nothing_to_jump_from() -> None:
    assert not Memory().jumped(Clock(1e9, 5))


@given(KEYS, KEYS)
def test_keys_may_only_grow(before: list[KeyEntry], more: list[KeyEntry]) -> None:
    memory = Memory(keys=count_keys(tuple(before)))
    assert not memory.lost_keys((*before, *more))
    for place in range(len(before)):
        assert memory.lost_keys(tuple(before[:place] + before[place + 1 :]))


def test_a_machine_that_was_never_asked_is_watching() -> None:
    assert {NEW.proof(machine.name) for machine in MACHINES} == {Proof(Stage.WATCHING)}


def test_starting_over_forgets_every_first_find_and_nothing_else() -> None:
    for machine in MACHINES:
        for state in {before for before, _ in machine.table} | {*machine.table.values()}:
            left = NEW.with_proof(machine.name, Proof(state)).start_over().proof(machine.name)
            assert left == Proof(Stage.WATCHING if state == Stage.FOUND_ONCE else state)


def test_where_there_is_nothing_to_forget_the_memory_is_the_same() -> None:
    memory = RunMemory(proofs={"nudge": Proof(Stage.GIVEN_UP)})
    assert memory.start_over() is memory


def test_nothing_is_in_the_way_of_a_tracked_run_and_its_memory_is_the_same_while_that_is_so() -> None:
    was = RunMemory("A", machine="nudge", obstacle=OBSTACLE, proofs={"nudge": Proof(Stage.FOUND_ONCE)})
    tracked = was.tracked()
    assert tracked == RunMemory("A", proofs={"nudge": Proof(Stage.WATCHING)})
    assert tracked.tracked() is tracked
