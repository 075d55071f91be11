from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum
from types import ModuleType
from typing import Any

import pytest

from strawboss.recovery import conditions as shared
from strawboss.recovery.look import MACHINES
from strawboss.recovery.lost import conditions as lost_conditions
from strawboss.recovery.lost.machine import Event as Losing
from strawboss.recovery.lost.machine import State as Lost
from strawboss.recovery.machine import Machine
from strawboss.recovery.nudge import conditions as nudge_conditions
from strawboss.recovery.nudge.machine import TRANSITIONS as NUDGE
from strawboss.recovery.nudge.machine import Event as Nudge
from strawboss.recovery.nudge.machine import State as Asked
from strawboss.recovery.proof import Finding, Proof, Stage, mermaid
from strawboss.recovery.restored import conditions as restored_conditions
from strawboss.recovery.restored.machine import TRANSITIONS as RESTORED
from strawboss.recovery.restored.machine import Event as Restored
from strawboss.recovery.restored.machine import State
from strawboss.recovery.verdict import Condition

MODULES = (shared, nudge_conditions, restored_conditions, lost_conditions)

STATES = {"nudge": [*Stage, *Asked], "restored": [*Stage, *State], "lost": [*Stage, *Lost]}
EVENTS = {
    "nudge": [*Finding, *Nudge],
    "restored": [*Finding, *Restored],
    "lost": [*Finding, *Losing],
}
each_machine = pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)


@each_machine
def test_a_step_is_what_the_table_says_and_nothing_else(machine: Machine) -> None:
    for state in STATES[machine.name]:
        for event in EVENTS[machine.name]:
            if (state, event) in machine.table:
                assert Proof(state).step(machine.table, event).state == machine.table[state, event]
            else:
                with pytest.raises(KeyError):
                    Proof(state).step(machine.table, event)


@each_machine
def test_every_state_can_be_reached_and_every_event_happens(machine: Machine) -> None:
    assert reached(machine.table, Stage.WATCHING) == set(STATES[machine.name])
    assert {event for _, event in machine.table} == set(EVENTS[machine.name])


@each_machine
def test_every_state_that_has_not_ended_can_still_end(machine: Machine) -> None:
    assert all(reached(machine.table, state) & machine.ended for state in STATES[machine.name])


def test_only_a_key_leads_to_an_act() -> None:
    assert into(NUDGE, Asked.NUDGED) == {Nudge.KEY_WRITTEN}
    assert into(NUDGE, Asked.SENT) == {Nudge.ACCEPTED}
    closing = {
        event
        for (state, event), other in RESTORED.items()
        if other == State.CLOSING and state != State.CLOSING
    }
    assert closing == {Restored.CLOSING_WRITTEN}
    assert into(RESTORED, State.CONTINUED) == {Restored.CONTINUED_WRITTEN}
    assert into(RESTORED, State.RESUMED) == {Restored.TAKEN}
    assert into(RESTORED, State.GAVE_UP) == {Restored.GAVE_UP_WRITTEN}


def test_what_is_done_to_a_run_is_never_done_again() -> None:
    assert reached(NUDGE, Asked.SENT) | reached(NUDGE, Asked.SEND_FAILED) == {Asked.SENT, Asked.SEND_FAILED}
    after = reached(RESTORED, State.TO_TELL)
    assert not after & {Stage.WATCHING, State.CLOSING, State.CONTINUED}


def test_the_picture_has_one_arrow_a_row() -> None:
    class Light(StrEnum):
        GREEN = "green"

    class Go(Enum):
        WAIT = "a while"

    assert mermaid({(Stage.WATCHING, Go.WAIT): Light.GREEN}) == (
        "stateDiagram-v2\n    [*] --> WATCHING\n    WATCHING --> GREEN: a while"
    )


@each_machine
def test_no_label_ends_early_in_the_picture(machine: Machine) -> None:
    events, states = EVENTS[machine.name], STATES[machine.name]
    assert not any(set(":;\n") & set(event.value) for event in events)
    assert len({event.value for event in events}) == len(events)
    assert len(set(states)) == len(states)


def reached(table: Mapping[Any, Any], start: Any) -> set[Any]:
    found, new = {start}, [start]
    while new:
        state = new.pop()
        for (one, _), other in table.items():
            if one == state and other not in found:
                found.add(other)
                new.append(other)
    return found


def into(table: Mapping[Any, Any], state: Any) -> set[Any]:
    return {event for (_, event), other in table.items() if other == state}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_condition_is_asked_for_something(module: ModuleType) -> None:
    """One that stands in no group decides nothing, however well it is tested."""
    asked = {one for of in MODULES for group in groups(of) for one in group}
    own = {one for one in vars(module).values() if isinstance(one, Condition)}
    assert {one.name for one in own} <= {one.name for one in asked}


def groups(module: ModuleType) -> list[tuple[Any, ...]]:
    return [
        one
        for one in vars(module).values()
        if isinstance(one, tuple) and one and all(isinstance(each, Condition) for each in one)
    ]
