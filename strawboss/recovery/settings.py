"""What a user may set about the core. Fixed for the life of a process."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

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


class Beyond(StrEnum):
    """What to do about a run that the specification leaves: one warning with the call to make, recover it, or nothing."""

    WARN = "warn"
    RECOVER = "recover"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Settings:
    """`interval`: seconds between two looks of one proof. A machine that is off does nothing and says so.

    `resumed`: a run that was recovered before and is stranded again. `lost`: one whose pane never came back.
    `observe`: everything but acts (`recovery/observing.py`).
    """

    interval: float = LOOK_SECONDS
    nudge: bool = True
    restored: bool = True
    resumed: Beyond = Beyond.WARN
    lost: Beyond = Beyond.WARN
    turn_starting_types: frozenset[str] = TURN_STARTING_TYPES
    observe: bool = False
