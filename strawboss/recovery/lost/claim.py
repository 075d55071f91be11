"""A lost run that is to be resumed: as long as nobody holds its session, it is handed to its launcher."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from strawboss.recovery.commands import Command, ProcessInfo
from strawboss.recovery.facts import Facts
from strawboss.recovery.handover import Handover
from strawboss.recovery.known import Commands, Known
from strawboss.recovery.lost.conditions import STILL_LOST, pane_left
from strawboss.recovery.lost.holders import with_holders
from strawboss.recovery.restored.conditions import TO_GO_ON
from strawboss.recovery.restored.last_turn import read_turn, text_for
from strawboss.recovery.restored.machine import NAME, Event, State, step
from strawboss.recovery.verdict import first_obstacle


def go_on_claimed(known: Known) -> Commands:
    """Their keys are written, by this process or another. A session that was busy, or dropped the message, makes it wait:
    whoever may hold the run is asked again each time.
    """
    for run in known.at(NAME, State.CLAIMED, State.TO_TELL):
        facts = known.facts[run]
        if facts.keys.claimed and not facts.is_taken and first_obstacle(facts, TO_GO_ON) is None:
            yield from _hand_over(known, run)


def _hand_over(known: Known, run: str) -> Commands:
    """Somebody may have gone on with it since: then it waits, and its report says so."""
    facts = known.facts[run] = yield from _as_it_is_now(known.facts[run])
    obstacle = first_obstacle(facts, STILL_LOST)
    if obstacle is not None:
        step(known, run, Event.MAYBE_HELD)
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


def _as_it_is_now(facts: Facts) -> Generator[Command, Any, Facts]:
    """Of a run that is under way the look has asked for no processes."""
    pane = pane_left(facts)
    if pane is not None:
        facts = replace(facts, processes=(yield ProcessInfo(pane.id)))
    return (yield from with_holders(facts))
