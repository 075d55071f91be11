"""Giving up is silent, but for a close that had been taken back, and for runs that are lost."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from strawboss.recovery import messages
from strawboss.recovery.commands import Command, Notify
from strawboss.recovery.journal import write_key
from strawboss.recovery.keys import LOST
from strawboss.recovery.known import Commands, Known
from strawboss.recovery.memory import NEW
from strawboss.recovery.proof import Finding, Stage
from strawboss.recovery.restored.conditions import nobody_is_there
from strawboss.recovery.restored.machine import NAME, step
from strawboss.recovery.verdict import Verdict


def say_given_up(known: Known) -> Commands:
    lost = []
    for run in known.at(NAME, Stage.GIVEN_UP):
        obstacle = _given_up_now(known, run)
        if obstacle is None:
            continue
        if known.facts[run].keys.taken_back:
            yield _taken_back(known, run, obstacle)
        elif _is_lost(known, run, obstacle) and (yield from _note_lost(known, run)):
            lost.append(run)
    if lost:
        sessions = [(known.runs[run].name, known.facts[run].session_file) for run in lost]
        yield Notify("warning", messages.lost(sessions))


def _given_up_now(known: Known, run: str) -> Verdict | None:
    """Why this look gave up on the run, if it did."""
    if known.memory.runs.get(run, NEW).proof(NAME).state == Stage.GIVEN_UP:
        return None
    return known.runs[run].proof(NAME).obstacle


def _taken_back(known: Known, run: str, obstacle: Verdict) -> Notify:
    facts = known.facts[run]
    text = messages.taken_back_given_up(facts.name, run, facts.session_file, str(obstacle))
    return Notify("warning", text)


def _is_lost(known: Known, run: str, obstacle: Verdict) -> bool:
    facts = known.facts[run]
    seen = facts.keys.terminal is not None and not facts.keys.lost
    return seen and nobody_is_there(facts, obstacle)


def _note_lost(known: Known, run: str) -> Generator[Command, Any, bool]:
    """The warning is given once, so its key comes first; without it the next look gives up again."""
    if (yield from write_key(known, LOST, run)):
        return True
    step(known, run, Finding.KEY_MISSING)
    return False
