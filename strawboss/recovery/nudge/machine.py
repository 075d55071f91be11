"""The table of the nudge."""

from __future__ import annotations

from enum import Enum, StrEnum

from strawboss.recovery.keys import RunKeys
from strawboss.recovery.known import Known
from strawboss.recovery.proof import PROVING, Stage, Table

NAME = "nudge"


class State(StrEnum):
    """After the proof."""

    NUDGED = "nudged"
    SENT = "sent"
    SEND_FAILED = "send failed"


class Event(Enum):
    KEY_WRITTEN = "key nudged durable"
    CHANGED = "not stranded any more, key unnudged"
    LEFT_TO_A_PERSON = "a person was warned, key warned"
    ACCEPTED = "message accepted"
    REFUSED = "message failed or outcome unknown"


TRANSITIONS: Table = {
    **PROVING,
    (Stage.FOUND_TWICE, Event.KEY_WRITTEN): State.NUDGED,
    (Stage.FOUND_TWICE, Event.LEFT_TO_A_PERSON): Stage.GIVEN_UP,
    (State.NUDGED, Event.CHANGED): Stage.WATCHING,
    (State.NUDGED, Event.ACCEPTED): State.SENT,
    (State.NUDGED, Event.REFUSED): State.SEND_FAILED,
}
DONE = frozenset({State.NUDGED, State.SENT, State.SEND_FAILED})
ENDED = DONE | {Stage.GIVEN_UP}


def stands(keys: RunKeys, watched: str, _: str = "") -> str:
    """Where the machine stands when the keys are read: a `nudged` key outlives every process."""
    if watched == State.NUDGED and not keys.nudged:
        return Stage.WATCHING  # `unnudged` is in the file, whatever the reply to it was
    return State.NUDGED if keys.nudged and watched not in ENDED else watched


def step(known: Known, run: str, event: Enum) -> None:
    known.step(run, NAME, TRANSITIONS, event)
