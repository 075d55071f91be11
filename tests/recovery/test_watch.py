from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from recovery.given import key

from strawboss.recovery import nudge, restored
from strawboss.recovery.evidence import Clock, KeyEntry
from strawboss.recovery.keys import RunKeys
from strawboss.recovery.verdict import no
from strawboss.recovery.watch import NEW, Memory, Watch, count_keys

KEYS = st.lists(st.sampled_from([key("seen"), key("nudged"), key("seen", "b1b2c3d4")]), max_size=6)


def test_the_first_look_has_nothing_to_jump_from() -> None:
    assert not Memory().jumped(Clock(1e9, 5))


@given(KEYS, KEYS)
def test_keys_may_only_grow(before: list[KeyEntry], more: list[KeyEntry]) -> None:
    memory = Memory(keys=count_keys(tuple(before)))
    assert not memory.lost_keys((*before, *more))
    for place in range(len(before)):
        assert memory.lost_keys(tuple(before[:place] + before[place + 1 :]))


def test_a_settled_run_is_closed_whoever_tracks_it() -> None:
    watch = Watch(settled=no("it never ended", "ended"))
    assert not watch.is_open(tracked=True)
    assert not watch.is_open(tracked=False)


def test_a_tracked_run_is_open_until_it_is_noted_or_was_looked_for_eight_times() -> None:
    assert NEW.is_open(tracked=True)
    assert not Watch(noted=True).is_open(tracked=True)
    assert not Watch(note_misses=8).is_open(tracked=True)


def test_an_untracked_run_is_open_until_both_machines_have_ended() -> None:
    for nudge_state in nudge.State:
        for restored_state in restored.State:
            ended = nudge_state in nudge.FINAL and restored_state in restored.FINAL
            watch = Watch(nudge=nudge_state, restored=restored_state)
            assert watch.is_open(tracked=False) is not ended


def test_starting_over_forgets_a_first_find_and_nothing_else() -> None:
    for state in restored.State:
        kept = Watch(restored=state).start_over().restored
        assert kept is (restored.State.WATCHING if state is restored.State.FOUND_ONCE else state)
    for other in nudge.State:
        left = Watch(nudge=other).start_over().nudge
        assert left is (nudge.State.WATCHING if other is nudge.State.FOUND_ONCE else other)


def test_a_note_counts_for_the_pane_its_launch_script_names() -> None:
    assert NEW.with_keys(RunKeys(terminal="t", pane="w1:p3"), "w1:p3").noted
    assert NEW.with_keys(RunKeys(terminal="t"), "w1:p3").noted
    assert not NEW.with_keys(RunKeys(terminal="t", pane="w1:p9"), "w1:p3").noted
    assert not NEW.with_keys(RunKeys(), "w1:p3").noted
