"""A run in a managed worktree keeps its restored pane; a child that was cut off is told to go on over intercom."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from strawboss.recovery import messages, nudge, restored
from strawboss.recovery.acts.step import Commands, move, read_turn, session_file, text_for, write_key
from strawboss.recovery.commands import Command, Outcome, Result, SendIntercom
from strawboss.recovery.cut import Cut
from strawboss.recovery.evidence import Worktree
from strawboss.recovery.facts import Facts
from strawboss.recovery.keys import CONTINUED
from strawboss.recovery.messages import Handover, WorktreeHandover
from strawboss.recovery.round import Round
from strawboss.recovery.verdict import first_obstacle

MAYBE_TOLD = "Straw Boss was restarted while it told it, so look first whether it is at work"
IN_REACH = (nudge.launcher_is_reachable, nudge.has_a_session, nudge.session_is_idle)


def continue_worktree(round_: Round, run: str, turn: Cut) -> Commands:
    if not turn.holds:
        _hand_over(round_, run, turn, restored.Event.NOT_TOLD)
        return
    obstacle = first_obstacle(round_.facts[run], IN_REACH)
    if obstacle is not None:
        _out_of_reach(round_, run, turn, str(obstacle))
    elif not (yield from write_key(round_, CONTINUED, run)):
        move(round_, run, restored.Event.KEY_MISSING)
    else:
        move(round_, run, restored.Event.CONTINUED_WRITTEN)
        why_not = yield from _tell_child(round_, run, turn)
        _hand_over(round_, run, turn, restored.Event.SENT, told=not why_not, why_not=why_not)


def go_on_continued(round_: Round, run: str) -> Commands:
    """An earlier process wrote `continued` and died: the child may have been told, so it is not told again."""
    turn = yield from read_turn(round_, run)
    _hand_over(round_, run, turn, restored.Event.SENT, why_not=MAYBE_TOLD)


def _out_of_reach(round_: Round, run: str, turn: Cut, why: str) -> None:
    """spec/1: looked at again at the next looks, four at most; then the launcher is told."""
    looks = round_.watches[run].unreachable + 1
    if looks < restored.REACH_LOOKS:
        move(round_, run, restored.Event.NOT_REACHABLE)
        round_.watches[run] = replace(round_.watches[run], unreachable=looks)
    else:
        event = restored.Event.NOT_TOLD
        _hand_over(round_, run, turn, event, why_not=f"it could not be reached: {why}")


def _tell_child(round_: Round, run: str, turn: Cut) -> Generator[Command, Any, str]:
    """Send the text, unless somebody went on with the child meanwhile. Returns why it was not told, or nothing."""
    facts = round_.facts[run]
    peer = facts.peer
    assert peer is not None
    now = yield from read_turn(round_, run)
    if not now.holds or now.last != turn.last:
        return "somebody went on with it"
    text = messages.with_address(text_for(round_, run, turn), round_.launcher.id, facts.launcher_name)
    result: Result = yield SendIntercom(peer.id, peer.epoch, text)
    if result.outcome is Outcome.DONE:
        return ""
    if result.outcome is Outcome.UNKNOWN:
        return f"it is not known whether the text arrived: {result.why}; look first whether it is at work"
    return f"pi-intercom did not take the text: {result.why}"


def _hand_over(
    round_: Round, run: str, turn: Cut, event: restored.Event, *, told: bool = False, why_not: str = ""
) -> None:
    facts = round_.facts[run]
    move(round_, run, event)
    handover = Handover(
        run,
        facts.name,
        session_file(facts),
        turn.at,
        text_for(round_, run, turn),
        turn.holds,
        worktree=_place(facts, told=told, why_not=why_not),
    )
    round_.watches[run] = replace(round_.watches[run], handover=handover)


def _place(facts: Facts, *, told: bool, why_not: str) -> WorktreeHandover:
    manifest = facts.files.worktree if isinstance(facts.files.worktree, Worktree) else Worktree("")
    pane = manifest.pane or (facts.script.surface if facts.script else "")
    return WorktreeHandover(pane, manifest.path, manifest.branch, told, why_not)
