"""The table of the restored case."""

from __future__ import annotations

from enum import Enum, StrEnum

from strawboss.recovery.keys import RunKeys
from strawboss.recovery.known import Known
from strawboss.recovery.proof import PROVING, Stage, Table

NAME = "restored"


class State(StrEnum):
    """After the proof."""

    CLOSING = "closing"
    CONTINUED = "continued"
    CLAIMED = "lost, and to be handed over"
    TO_TELL = "pane settled, launcher to be told"
    TOLD = "message put"
    FAILED = "a step failed"
    RESUMED = "resumed"
    GAVE_UP = "gave up"


class Event(Enum):
    CLOSING_WRITTEN = "key closing durable"
    CONTINUED_WRITTEN = "key continued durable"
    CLAIM_WRITTEN = "key lost durable, to be resumed"
    NOBODY_HOLDS_IT = "nobody holds its session"
    MAYBE_HELD = "somebody may hold its session"
    LEFT_TO_A_PERSON = "a person was warned, key warned"
    NOT_REACHABLE = "worktree child not reachable yet"
    NOT_TOLD = "worktree child not to be told"
    CHANGED = "pane changed or still open, key unclosed"
    UNSEEN = "cannot be seen whether the pane is gone"
    PANE_GONE = "pane gone"
    STEP_FAILED = "a step failed"
    GAVE_UP_WRITTEN = "key gaveUp durable"
    SENT = "worktree child told, or the attempt was made"
    PUT = "message accepted by the session"
    NOT_NOW = "session is compacting or cannot be asked"
    DROPPED = "message dropped by the session"
    TAKEN = "message seen in the session, key resumed"


# A managed-worktree run takes the road over CONTINUED, or straight to TO_TELL; never over CLOSING.
TRANSITIONS: Table = {
    **PROVING,
    (Stage.WATCHING, Event.TAKEN): State.RESUMED,
    (Stage.FOUND_ONCE, Event.TAKEN): State.RESUMED,
    (Stage.FOUND_TWICE, Event.CLOSING_WRITTEN): State.CLOSING,
    (Stage.FOUND_TWICE, Event.NOT_REACHABLE): Stage.FOUND_ONCE,
    (Stage.FOUND_TWICE, Event.CONTINUED_WRITTEN): State.CONTINUED,
    (Stage.FOUND_TWICE, Event.NOT_TOLD): State.TO_TELL,
    (Stage.FOUND_TWICE, Event.LEFT_TO_A_PERSON): Stage.GIVEN_UP,
    (State.CLOSING, Event.CHANGED): Stage.WATCHING,
    (State.CLOSING, Event.UNSEEN): State.CLOSING,
    (State.CLOSING, Event.PANE_GONE): State.TO_TELL,
    (State.CLOSING, Event.STEP_FAILED): State.FAILED,
    (State.CLOSING, Event.TAKEN): State.RESUMED,
    (State.CONTINUED, Event.SENT): State.TO_TELL,
    (State.CONTINUED, Event.TAKEN): State.RESUMED,
    (State.TO_TELL, Event.NOT_NOW): State.TO_TELL,
    (State.TO_TELL, Event.PUT): State.TOLD,
    (State.TO_TELL, Event.STEP_FAILED): State.FAILED,
    (State.TO_TELL, Event.TAKEN): State.RESUMED,
    (State.TOLD, Event.NOT_NOW): State.TOLD,
    (State.TOLD, Event.DROPPED): State.TO_TELL,
    (State.TOLD, Event.STEP_FAILED): State.FAILED,
    (State.TOLD, Event.TAKEN): State.RESUMED,
    (State.FAILED, Event.GAVE_UP_WRITTEN): State.GAVE_UP,
    (State.FAILED, Event.TAKEN): State.RESUMED,
    (Stage.GIVEN_UP, Event.CLAIM_WRITTEN): State.CLAIMED,
    (State.CLAIMED, Event.NOBODY_HOLDS_IT): State.TO_TELL,
    (State.CLAIMED, Event.MAYBE_HELD): State.CLAIMED,
    (State.TO_TELL, Event.NOBODY_HOLDS_IT): State.TO_TELL,
    (State.TO_TELL, Event.MAYBE_HELD): State.CLAIMED,
    (State.CLAIMED, Event.TAKEN): State.RESUMED,
    (Stage.GIVEN_UP, Event.TAKEN): State.RESUMED,
}
DONE = frozenset({State.RESUMED, State.GAVE_UP})
ENDED = DONE | {Stage.GIVEN_UP}
UNDER_WAY = frozenset(
    {State.CLOSING, State.CONTINUED, State.CLAIMED, State.TO_TELL, State.TOLD, State.FAILED}
)


def stands(keys: RunKeys, watched: str, found: str = "") -> str:
    """Where the machine stands when the keys are read: what is durable outlives the process that wrote it.

    A worktree run, whose keys carry the terminal, may be stranded again in another one. Where they name none, what is
    under way is done, and a run that was told to go on may be stranded again at a later session start.
    """
    if keys.resumed and (found in keys.handed_in - {""} or _is_final(keys, watched)):
        return State.RESUMED
    if keys.gave_up is not None:
        return State.GAVE_UP
    if watched == State.CLOSING and keys.closing is None:
        return Stage.WATCHING  # `unclosed` is in the file, whatever the reply to it was
    if watched in UNDER_WAY or watched in ENDED:
        return watched
    if keys.closing is not None:
        return State.CLOSING
    if keys.claimed:
        return State.CLAIMED
    return State.CONTINUED if keys.continued else watched


def _is_final(keys: RunKeys, watched: str) -> bool:
    return not keys.tells_strandings_apart and (watched in UNDER_WAY or not keys.went_on)


def step(known: Known, run: str, event: Enum) -> None:
    known.step(run, NAME, TRANSITIONS, event)
