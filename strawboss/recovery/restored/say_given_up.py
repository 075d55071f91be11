"""Giving up is silent, but for a close that had been taken back and for a pane of which nothing can ever be told."""

from __future__ import annotations

from strawboss.recovery.commands import Notify
from strawboss.recovery.facts import is_pi
from strawboss.recovery.known import Commands, Known
from strawboss.recovery.memory import NEW
from strawboss.recovery.proof import Stage
from strawboss.recovery.restored import messages
from strawboss.recovery.restored.conditions import pane_is_plain
from strawboss.recovery.restored.machine import NAME
from strawboss.recovery.verdict import Unknown, Verdict


def say_given_up(known: Known) -> Commands:
    for run in known.at(NAME, Stage.GIVEN_UP):
        obstacle = _given_up_now(known, run)
        if obstacle is None:
            continue
        facts = known.facts[run]
        if facts.keys.taken_back:
            text = messages.taken_back_given_up(facts.name, run, facts.session_file, str(obstacle))
            yield Notify("warning", text)
        elif _holds_two_pi(known, run, obstacle):
            yield Notify(
                "warning", messages.two_pi(facts.name, run, str(facts.script and facts.script.surface))
            )


def _given_up_now(known: Known, run: str) -> Verdict | None:
    """Why this look gave up on the run, if it did."""
    if known.memory.runs.get(run, NEW).proof(NAME).state == Stage.GIVEN_UP:
        return None
    return known.runs[run].proof(NAME).obstacle


def _holds_two_pi(known: Known, run: str, obstacle: Verdict) -> bool:
    """As long as a version manager's shim stays beside pi, "exactly one pi" can never hold."""
    processes = known.facts[run].processes
    if isinstance(processes, Unknown) or not obstacle.is_of((pane_is_plain,)):
        return False
    return sum(map(is_pi, processes)) > 1
