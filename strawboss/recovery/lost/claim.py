"""A lost run that is to be resumed: as long as nobody holds its session, it is handed to its launcher."""

from __future__ import annotations

from strawboss.recovery.handover import Handover
from strawboss.recovery.known import Commands, Known
from strawboss.recovery.lost.conditions import STILL_LOST
from strawboss.recovery.lost.holders import with_holders
from strawboss.recovery.restored.conditions import TO_GO_ON
from strawboss.recovery.restored.last_turn import read_turn, text_for
from strawboss.recovery.restored.machine import NAME, Event, State, step
from strawboss.recovery.verdict import first_obstacle


def go_on_claimed(known: Known) -> Commands:
    """Their keys are written, by this process or another one."""
    for run in known.at(NAME, State.CLAIMED):
        facts = known.facts[run]
        if not facts.is_taken and first_obstacle(facts, TO_GO_ON) is None:
            yield from _hand_over(known, run)


def _hand_over(known: Known, run: str) -> Commands:
    """Somebody may have gone on with it since: then it waits, and its report says so."""
    facts = known.facts[run] = yield from with_holders(known.facts[run])
    obstacle = first_obstacle(facts, STILL_LOST)
    if obstacle is not None:
        known.remember(run, obstacle=obstacle)
        return
    turn = yield from read_turn(known, run)
    step(known, run, Event.NOBODY_HOLDS_IT)
    auto_exit = facts.script.auto_exit if facts.script else True
    text = text_for(known, run, turn)
    handover = Handover(
        run, facts.name, facts.session_file, turn.at, text, turn.was_cut, auto_exit, lost=True
    )
    known.hand(run, handover=handover)
