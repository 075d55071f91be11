"""The table of the lost case."""

from __future__ import annotations

from enum import Enum, StrEnum

from strawboss.recovery.keys import RunKeys
from strawboss.recovery.known import Known
from strawboss.recovery.proof import PROVING, Stage, Table

NAME = "lost"


class State(StrEnum):
    """After the proof."""

    SAID = "lost, a person was warned"
    CLAIMED = "lost, to be handed over"


class Event(Enum):
    SAID_WRITTEN = "key lost durable"
    CLAIM_WRITTEN = "key lost durable, to be resumed"


TRANSITIONS: Table = {
    **PROVING,
    (Stage.FOUND_TWICE, Event.SAID_WRITTEN): State.SAID,
    (Stage.FOUND_TWICE, Event.CLAIM_WRITTEN): State.CLAIMED,
}
ENDED = frozenset({*State, Stage.GIVEN_UP})


def stands(keys: RunKeys, watched: str, _: str = "") -> str:
    """A `lost` key outlives every process; from a claim on the restored machine goes on."""
    if watched in ENDED or not keys.lost:
        return watched
    return State.CLAIMED if keys.claimed else State.SAID


def step(known: Known, run: str, event: Enum) -> None:
    known.step(run, NAME, TRANSITIONS, event)
