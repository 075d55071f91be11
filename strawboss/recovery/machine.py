"""A state machine is one literal table; the pictures in the docs are drawn from it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TypeVar

State = TypeVar("State", bound=Enum)
Event = TypeVar("Event", bound=Enum)


def step(table: Mapping[tuple[State, Event], State], state: State, event: Event) -> State:
    """The next state. A pair that is not in the table is a bug: KeyError, and nothing has changed."""
    return table[state, event]


def mermaid(table: Mapping[tuple[State, Event], State], start: State) -> str:
    """The table as a mermaid state diagram, one arrow a row."""
    arrows = [f"    {one.name} --> {other.name}: {event.value}" for (one, event), other in table.items()]
    return "\n".join(["stateDiagram-v2", f"    [*] --> {start.name}", *arrows])
