"""Close a restored pane, and only that pane, and see that it is gone (spec/1, "Then, in this order")."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from strawboss.recovery import restored
from strawboss.recovery.acts.proof import not_found_restored
from strawboss.recovery.acts.step import Commands, fail, move, read_turn, session_file, text_for, write_key
from strawboss.recovery.acts.worktree import continue_worktree
from strawboss.recovery.commands import (
    ClosePane,
    Command,
    ListPanes,
    ListSessions,
    Outcome,
    Pause,
    ProcessInfo,
    ReadTail,
    Result,
)
from strawboss.recovery.cut import Cut, cut
from strawboss.recovery.evidence import Pane, Panes, Processes, Tail
from strawboss.recovery.facts import Facts
from strawboss.recovery.keys import CLOSING, UNCLOSED
from strawboss.recovery.messages import Handover
from strawboss.recovery.round import Round
from strawboss.recovery.verdict import Unknown, Verdict, first_obstacle, no

POLL_SECONDS = 0.25


def recover_found(round_: Round) -> Commands:
    """Everything that this look found restored for the second time."""
    for run in list(round_.facts):
        if round_.watches[run].restored is restored.State.FOUND_TWICE:
            yield from _recover(round_, run)


def _recover(round_: Round, run: str) -> Commands:
    """Close its pane, or, in a managed worktree, tell the child to go on."""
    facts = replace(round_.facts[run], roster=(yield ListSessions()))
    round_.facts[run] = facts
    tail: Tail | Unknown = yield ReadTail(session_file(facts))
    obstacle = _last_obstacle(facts, tail)
    if obstacle is not None:
        watch = replace(round_.watches[run], obstacle=obstacle, restored_obstacle=obstacle)
        round_.watches[run] = not_found_restored(watch, missed=True)
        return
    turn = cut(tail, round_.settings, facts.activity, restored=True)
    if restored.is_worktree(facts):
        yield from continue_worktree(round_, run, turn)
    else:
        yield from _close(round_, run, turn)


def _last_obstacle(facts: Facts, tail: Tail | Unknown) -> Verdict | None:
    verdicts = [restored.is_not_contradicted(facts, tail)]
    if not restored.is_worktree(facts):
        verdicts.insert(0, restored.can_be_resumed(tail))
    return next((verdict for verdict in verdicts if not verdict.holds), None)


def _close(round_: Round, run: str, turn: Cut) -> Commands:
    pane = restored.restored_pane(round_.facts[run])
    assert pane is not None
    if not (yield from write_key(round_, CLOSING, run, pane=pane.id, terminal=str(pane.terminal))):
        move(round_, run, restored.Event.KEY_MISSING)
        return
    move(round_, run, restored.Event.CLOSING_WRITTEN)
    verdict = yield from _still_restored(round_, run)
    if isinstance(verdict, Unknown):
        move(round_, run, restored.Event.UNSEEN)
    elif verdict is not None:
        yield from _take_back(round_, run, verdict)
    else:
        yield from _close_and_wait(round_, run, pane, turn)


def _still_restored(round_: Round, run: str) -> Generator[Command, Any, Verdict | Unknown | None]:
    """The proof once more, right before the close: pane ids can change hands (R15)."""
    panes: Panes | Unknown = yield ListPanes()
    if isinstance(panes, Unknown):
        return panes
    facts = replace(round_.facts[run], panes=panes)
    obstacle = first_obstacle(facts, restored.BY_PANES)
    if obstacle is not None:
        return obstacle
    pane = restored.restored_pane(facts)
    assert pane is not None
    found = round_.watches[run].restored_found
    if found is None or pane.terminal != found.what:
        return no("it is the pane that was found", "its terminal has changed")
    processes: Processes | Unknown = yield ProcessInfo(pane.id)
    return first_obstacle(replace(facts, processes=processes), restored.BY_PROCESSES)


def _close_and_wait(round_: Round, run: str, pane: Pane, turn: Cut) -> Commands:
    result: Result = yield ClosePane(pane.id)
    if result.outcome is Outcome.FAILED:
        yield from fail(round_, run, f"its restored pane {pane.id} could not be closed: {result.why}")
        return
    gone = yield from _wait_until_gone(round_.facts[run], pane)
    if isinstance(gone, Unknown):
        move(round_, run, restored.Event.UNSEEN)
    elif gone:
        _hand_over(round_, run, turn)
    else:
        yield from fail(round_, run, f"its restored pane {pane.id} stays open")


def _wait_until_gone(facts: Facts, pane: Pane) -> Generator[Command, Any, bool | Unknown]:
    """Poll the list for five seconds. An ok reply is no effect (R24), and a server-side wait could hang (R14)."""
    started: float = yield Pause(0)
    while True:
        panes: Panes | Unknown = yield ListPanes()
        if restored.terminal_is_gone(replace(facts, panes=panes), pane.terminal):
            return True
        if (yield Pause(POLL_SECONDS)) - started >= restored.GONE_SECONDS:
            return panes if isinstance(panes, Unknown) else False


def _hand_over(round_: Round, run: str, turn: Cut) -> None:
    """Its pane is gone: the launcher is to resume it."""
    move(round_, run, restored.Event.PANE_GONE)
    facts = round_.facts[run]
    auto_exit = facts.script.auto_exit if facts.script else True
    text = text_for(round_, run, turn)
    handover = Handover(run, facts.name, session_file(facts), turn.at, text, turn.holds, auto_exit)
    round_.watches[run] = replace(round_.watches[run], handover=handover)


def _take_back(round_: Round, run: str, why: Verdict) -> Commands:
    """The close was not sent or never took effect: the key is taken back, the proof starts from the beginning."""
    if not (yield from write_key(round_, UNCLOSED, run, why=str(why))):
        move(round_, run, restored.Event.UNSEEN)
        return
    move(round_, run, restored.Event.CHANGED)
    watch = round_.watches[run]
    round_.watches[run] = replace(
        watch, restored_found=None, restored_misses=0, obstacle=why, restored_obstacle=why
    )


def go_on_closing(round_: Round, run: str) -> Commands:
    """An earlier look, or an earlier process, wrote `closing`; whether the pane is gone says how far it came."""
    facts = round_.facts[run]
    if isinstance(facts.panes, Unknown):
        move(round_, run, restored.Event.UNSEEN)
    elif restored.pane_is_gone(facts):
        _hand_over(round_, run, (yield from read_turn(round_, run)))
    else:
        why = no("its pane is gone", "it is still open, so the close never took effect")
        yield from _take_back(round_, run, why)
