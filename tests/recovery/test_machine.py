from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import pytest

from strawboss.recovery import nudge, restored
from strawboss.recovery.machine import mermaid, step

MACHINES = {
    "nudge": (nudge.TRANSITIONS, nudge.State, nudge.Event, nudge.FINAL, nudge.State.WATCHING),
    "restored": (
        restored.TRANSITIONS,
        restored.State,
        restored.Event,
        restored.FINAL,
        restored.State.WATCHING,
    ),
}
each_machine = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)


@each_machine
def test_a_step_is_what_the_table_says_and_nothing_else(machine: Any) -> None:
    table, states, events, _, _ = machine
    for state in states:
        for event in events:
            if (state, event) in table:
                assert step(table, state, event) is table[state, event]
            else:
                with pytest.raises(KeyError):
                    step(table, state, event)


@each_machine
def test_every_state_can_be_reached_and_every_event_happens(machine: Any) -> None:
    table, states, events, _, start = machine
    assert reached(table, start) == set(states)
    assert {event for _, event in table} == set(events)


@each_machine
def test_every_state_that_is_not_final_can_still_end(machine: Any) -> None:
    table, states, _, final, _ = machine
    assert all(reached(table, state) & final for state in states)


def test_only_a_key_leads_to_an_act() -> None:
    assert into(nudge.TRANSITIONS, nudge.State.NUDGED) == {nudge.Event.KEY_WRITTEN}
    assert into(nudge.TRANSITIONS, nudge.State.SENT) == {nudge.Event.ACCEPTED}
    closing = {
        event
        for (state, event), other in restored.TRANSITIONS.items()
        if other is restored.State.CLOSING and state is not restored.State.CLOSING
    }
    assert closing == {restored.Event.CLOSING_WRITTEN}
    assert into(restored.TRANSITIONS, restored.State.CONTINUED) == {restored.Event.CONTINUED_WRITTEN}
    assert into(restored.TRANSITIONS, restored.State.RESUMED) == {restored.Event.TAKEN}
    assert into(restored.TRANSITIONS, restored.State.GAVE_UP) == {restored.Event.GAVE_UP_WRITTEN}


def test_what_is_done_to_a_run_is_never_done_again() -> None:
    assert not reached(nudge.TRANSITIONS, nudge.State.NUDGED) & {nudge.State.WATCHING}
    after = reached(restored.TRANSITIONS, restored.State.TO_TELL)
    assert not after & {restored.State.WATCHING, restored.State.CLOSING, restored.State.CONTINUED}


def test_the_picture_has_one_arrow_a_row() -> None:
    class Light(Enum):
        RED = 1
        GREEN = 2

    class Go(Enum):
        WAIT = "a while"

    assert mermaid({(Light.RED, Go.WAIT): Light.GREEN}, Light.RED) == (
        "stateDiagram-v2\n    [*] --> RED\n    RED --> GREEN: a while"
    )


def reached(table: Mapping[Any, Any], start: Any) -> set[Any]:
    found, new = {start}, [start]
    while new:
        state = new.pop()
        for (one, _), other in table.items():
            if one is state and other not in found:
                found.add(other)
                new.append(other)
    return found


def into(table: Mapping[Any, Any], state: Any) -> set[Any]:
    return {event for (_, event), other in table.items() if other is state}


@each_machine
def test_no_label_ends_early_in_the_picture(machine: Any) -> None:
    _, states, events, _, _ = machine
    assert not any(set(":;\n") & set(event.value) for event in events)
    assert len({event.value for event in events}) == len(events)
    assert len({state.value for state in states}) == len(states)
