"""What a user may set about the core. Fixed for the life of a process."""

from __future__ import annotations

from dataclasses import dataclass

LOOK_SECONDS = 15.0  # between two looks, where the config does not say otherwise

# Custom messages that start a turn, so that one without an answer is a cut turn (docs/design.md#was-the-turn-cut).
TURN_STARTING_TYPES = frozenset(
    {
        "intercom_message",
        "subagent_result",
        "subagent_ping",
        "herdr_workflow_result",
        "monitor_wake",
        "second-thought",
        "document-review",
        "robot-hand",
        "straw-boss",
    }
)


@dataclass(frozen=True, slots=True)
class Settings:
    """`interval`: seconds between two looks of one proof. A machine that is off does nothing and says so.

    `observe`: everything but acts (`recovery/observing.py`).
    """

    interval: float = LOOK_SECONDS
    nudge: bool = True
    restored: bool = True
    turn_starting_types: frozenset[str] = TURN_STARTING_TYPES
    observe: bool = False
