"""Close a restored pane, and only that pane, and see that it is gone (docs/design.md#the-restored-case)."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from strawboss.recovery.again import warn_of_stranding, why_left_to_a_person
from strawboss.recovery.commands import (
    ClosePane,
    Command,
    ListPanes,
    Outcome,
    Pause,
    Result,
)
from strawboss.recovery.evidence import Pane, Panes
from strawboss.recovery.facts import Facts
from strawboss.recovery.handover import Handover
from strawboss.recovery.journal import write_key
from strawboss.recovery.keys import CLAIM, CLOSING, UNCLOSED
from strawboss.recovery.known import Commands, Known
from strawboss.recovery.proof import Finding, Stage
from strawboss.recovery.recheck import look_again
from strawboss.recovery.restored import messages
from strawboss.recovery.restored.conditions import CONDITIONS, terminal_is_gone, where_it_is_found
from strawboss.recovery.restored.fail import fail
from strawboss.recovery.restored.last_turn import read_turn, text_for
from strawboss.recovery.restored.machine import NAME, Event, step
from strawboss.recovery.restored.numbers import GONE_SECONDS, POLL_SECONDS
from strawboss.recovery.restored.worktree import continue_worktree
from strawboss.recovery.turn import Turn, turn_of
from strawboss.recovery.verdict import Named, Unknown, Verdict, first_obstacle

SAME_PANE = Named("restored.it_is_the_pane_that_was_found", "it is the pane that was found")
PANE_IS_GONE = Named("restored.its_pane_is_gone", "its pane is gone")


def recover_found(known: Known) -> Commands:
    """Everything that this look found restored for the second time."""
    for run in known.at(NAME, Stage.FOUND_TWICE):
        yield from _recover(known, run)


def _recover(known: Known, run: str) -> Commands:
    """Close its pane, or, in a managed worktree, tell the child to go on."""
    facts = known.facts[run]
    why = why_left_to_a_person(facts)
    if why:
        yield from _leave_to_a_person(known, run, why)
        return
    turn = turn_of(facts.tail, facts.forks, known.settings, facts.activity, restored=True)
    if facts.is_worktree:
        yield from continue_worktree(known, run, turn)
    else:
        yield from _close(known, run, turn)


def _leave_to_a_person(known: Known, run: str, why: str) -> Commands:
    facts = known.facts[run]
    pane = facts.launch_pane.id if facts.launch_pane else ""
    by_hand = messages.close_and_resume(pane, facts.session_file)
    then = {"then": CLAIM}
    if facts.is_worktree:
        by_hand, then = messages.in_its_pane(pane), {}
    if (yield from warn_of_stranding(known, run, NAME, why, by_hand, **then)):
        step(known, run, Event.LEFT_TO_A_PERSON)
    else:
        step(known, run, Finding.KEY_MISSING)


def _close(known: Known, run: str, turn: Turn) -> Commands:
    pane = known.facts[run].launch_pane
    assert pane is not None
    if not (yield from write_key(known, CLOSING, run, pane=pane.id, terminal=str(pane.terminal))):
        step(known, run, Finding.KEY_MISSING)
        return
    step(known, run, Event.CLOSING_WRITTEN)
    verdict = yield from _still_restored(known, run)
    if isinstance(verdict, Unknown):
        step(known, run, Event.UNSEEN)
    elif verdict is not None:
        yield from _take_back(known, run, verdict)
    else:
        yield from _close_and_wait(known, run, pane, turn)


def _still_restored(known: Known, run: str) -> Generator[Command, Any, Verdict | Unknown | None]:
    """The proof once more, right before the close: pane ids can change hands (R15), and whoever knows may speak."""
    facts = yield from look_again(known, run)
    if isinstance(facts, Verdict):
        return facts
    if isinstance(facts.panes, Unknown):
        return facts.panes
    found = known.runs[run].proof(NAME).found
    if found is None or where_it_is_found(facts) != found.what:
        return SAME_PANE.no("its terminal has changed")
    return first_obstacle(facts, CONDITIONS)


def _close_and_wait(known: Known, run: str, pane: Pane, turn: Turn) -> Commands:
    result: Result = yield ClosePane(pane.id)
    if result.outcome is Outcome.FAILED:
        yield from fail(known, run, f"its restored pane {pane.id} could not be closed: {result.why}")
        return
    gone = yield from _wait_until_gone(known.facts[run], pane)
    if isinstance(gone, Unknown):
        step(known, run, Event.UNSEEN)
    elif gone:
        _hand_over(known, run, turn)
    else:
        yield from fail(known, run, f"its restored pane {pane.id} stays open")


def _wait_until_gone(facts: Facts, pane: Pane) -> Generator[Command, Any, bool | Unknown]:
    """Poll the list for `GONE_SECONDS`. An ok reply is no effect (R24), and a server-side wait could hang (R14)."""
    started: float = yield Pause(0)
    while True:
        panes: Panes | Unknown = yield ListPanes()
        if terminal_is_gone(replace(facts, panes=panes), pane.terminal):
            return True
        if (yield Pause(POLL_SECONDS)) - started >= GONE_SECONDS:
            return panes if isinstance(panes, Unknown) else False


def _hand_over(known: Known, run: str, turn: Turn) -> None:
    """Its pane is gone: the launcher is to resume it."""
    step(known, run, Event.PANE_GONE)
    facts = known.facts[run]
    auto_exit = facts.script.auto_exit if facts.script else True
    text = text_for(known, run, turn)
    handover = Handover(run, facts.name, facts.session_file, turn.at, text, turn.was_cut, auto_exit)
    known.hand(run, handover=handover)


def _take_back(known: Known, run: str, why: Verdict) -> Commands:
    """The close was not sent or never took effect: the key is taken back, the proof starts from the beginning."""
    if not (yield from write_key(known, UNCLOSED, run, why=str(why))):
        step(known, run, Event.UNSEEN)
        return
    step(known, run, Event.CHANGED)
    known.prove(run, NAME, replace(known.runs[run].proof(NAME), found=None, misses=0))
    known.obstruct(run, NAME, why)


def go_on_closing(known: Known, run: str) -> Commands:
    """An earlier look, or an earlier process, wrote `closing`; whether the pane is gone says how far it came."""
    facts = known.facts[run]
    closed = facts.keys.closing.data.get("terminal") if facts.keys.closing else None
    if isinstance(facts.panes, Unknown):
        step(known, run, Event.UNSEEN)
    elif terminal_is_gone(facts, closed):
        _hand_over(known, run, (yield from read_turn(known, run)))
    else:
        why = PANE_IS_GONE.no("it is still open, so the close never took effect")
        yield from _take_back(known, run, why)
