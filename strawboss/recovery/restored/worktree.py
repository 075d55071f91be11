"""A run in a managed worktree keeps its restored pane; a child that was cut off is told to go on over intercom."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from strawboss.recovery.commands import Command, Outcome, Result, SendIntercom
from strawboss.recovery.conditions import has_a_session, launcher_is_reachable, session_is_idle
from strawboss.recovery.evidence import Worktree
from strawboss.recovery.facts import Facts
from strawboss.recovery.handover import Handover, WorktreeHandover
from strawboss.recovery.journal import write_key
from strawboss.recovery.keys import CONTINUED
from strawboss.recovery.known import Commands, Known
from strawboss.recovery.proof import Finding
from strawboss.recovery.recheck import look_again
from strawboss.recovery.restored import messages
from strawboss.recovery.restored.conditions import CONDITIONS
from strawboss.recovery.restored.last_turn import read_turn, text_for
from strawboss.recovery.restored.machine import Event, step
from strawboss.recovery.restored.numbers import REACH_LOOKS
from strawboss.recovery.turn import Turn, turn_of
from strawboss.recovery.verdict import Verdict, first_obstacle

MAYBE_TOLD = "Straw Boss was restarted while it told it, so look first whether it is at work"
IN_REACH = (launcher_is_reachable, has_a_session, session_is_idle)


def continue_worktree(known: Known, run: str, turn: Turn) -> Commands:
    if not turn.was_cut:
        _hand_over(known, run, turn, Event.NOT_TOLD)
        return
    obstacle = first_obstacle(known.facts[run], IN_REACH)
    if obstacle is not None:
        _out_of_reach(known, run, turn, str(obstacle))
    elif not (yield from write_key(known, CONTINUED, run)):
        step(known, run, Finding.KEY_MISSING)
    else:
        step(known, run, Event.CONTINUED_WRITTEN)
        why_not = yield from _tell_child(known, run, turn)
        _hand_over(known, run, turn, Event.SENT, told=not why_not, why_not=why_not)


def go_on_continued(known: Known, run: str) -> Commands:
    """An earlier process wrote `continued` and died: the child may have been told, so it is not told again."""
    turn = yield from read_turn(known, run)
    _hand_over(known, run, turn, Event.SENT, why_not=MAYBE_TOLD)


def _out_of_reach(known: Known, run: str, turn: Turn, why: str) -> None:
    """Looked at again at the next looks, `REACH_LOOKS` in all; then the launcher is told."""
    looks = known.runs[run].handing.unreachable + 1
    if looks < REACH_LOOKS:
        step(known, run, Event.NOT_REACHABLE)
        known.hand(run, unreachable=looks)
    else:
        _hand_over(known, run, turn, Event.NOT_TOLD, why_not=f"it could not be reached: {why}")


def _tell_child(known: Known, run: str, turn: Turn) -> Generator[Command, Any, str]:
    """Send the text, unless anything speaks against it now. Returns why it was not told, or nothing."""
    facts = yield from look_again(known, run)
    if isinstance(facts, Verdict):
        return str(facts)
    # Its launcher is not told of a child that has reported meanwhile.
    known.learn(run, tracked=facts.tracked, transcript=facts.transcript)
    now = turn_of(facts.tail, facts.forks, known.settings, facts.activity, restored=True)
    if not now.was_cut or now.last != turn.last:
        return "somebody went on with it"
    obstacle = first_obstacle(facts, CONDITIONS + IN_REACH)
    if obstacle is not None:
        return str(obstacle)
    peer = facts.peer
    assert peer is not None
    text = messages.with_address(text_for(known, run, turn), known.launcher.id, facts.launcher_name)
    result: Result = yield SendIntercom(peer.id, peer.epoch, text)
    if result.outcome is Outcome.DONE:
        return ""
    if result.outcome is Outcome.UNKNOWN:
        return f"it is not known whether the text arrived: {result.why}; look first whether it is at work"
    return f"pi-intercom did not take the text: {result.why}"


def _hand_over(
    known: Known, run: str, turn: Turn, event: Event, *, told: bool = False, why_not: str = ""
) -> None:
    facts = known.facts[run]
    step(known, run, event)
    handover = Handover(
        run,
        facts.name,
        facts.session_file,
        turn.at,
        text_for(known, run, turn),
        turn.was_cut,
        worktree=_place(facts, told=told, why_not=why_not),
    )
    known.hand(run, handover=handover)


def _place(facts: Facts, *, told: bool, why_not: str) -> WorktreeHandover:
    manifest = facts.files.worktree if isinstance(facts.files.worktree, Worktree) else Worktree("")
    pane = manifest.pane or (facts.script.surface if facts.script else "")
    return WorktreeHandover(pane, manifest.path, manifest.branch, told, why_not)
