"""Giving up is silent, but for a close that had been taken back, and for runs that are lost (spec/1, DESIGN section 8)."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from strawboss.recovery import messages, restored
from strawboss.recovery.acts.step import Commands, move, session_file, write_key
from strawboss.recovery.commands import Command, Notify
from strawboss.recovery.keys import LOST
from strawboss.recovery.round import Round
from strawboss.recovery.verdict import Verdict
from strawboss.recovery.watch import NEW


def say_given_up(round_: Round) -> Commands:
    lost = []
    for run in list(round_.facts):
        obstacle = _given_up_now(round_, run)
        if obstacle is None:
            continue
        if round_.facts[run].keys.taken_back:
            yield _taken_back(round_, run, obstacle)
        elif _is_lost(round_, run, obstacle) and (yield from _note_lost(round_, run)):
            lost.append(run)
    if lost:
        sessions = [(round_.watches[run].name, session_file(round_.facts[run])) for run in lost]
        yield Notify("warning", messages.lost(sessions))


def _given_up_now(round_: Round, run: str) -> Verdict | None:
    """Why this look gave up on the run, if it did."""
    before = round_.memory.watches.get(run, NEW).restored
    watch = round_.watches[run]
    if watch.restored is not restored.State.GIVEN_UP or before is restored.State.GIVEN_UP:
        return None
    return watch.restored_obstacle


def _taken_back(round_: Round, run: str, obstacle: Verdict) -> Notify:
    facts = round_.facts[run]
    text = messages.taken_back_given_up(facts.name, run, session_file(facts), str(obstacle))
    return Notify("warning", text)


def _is_lost(round_: Round, run: str, obstacle: Verdict) -> bool:
    facts = round_.facts[run]
    seen = facts.keys.terminal is not None and not facts.keys.lost
    return seen and restored.nobody_is_there(facts, obstacle)


def _note_lost(round_: Round, run: str) -> Generator[Command, Any, bool]:
    """The warning is given once, so its key comes first; without it the next look gives up again."""
    if (yield from write_key(round_, LOST, run)):
        return True
    move(round_, run, restored.Event.KEY_MISSING)
    return False
