"""One step of an act: write its key, move its machine, and say so when it failed."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from strawboss.recovery import messages, restored
from strawboss.recovery.commands import Command, Notify, ReadTail, WriteKey
from strawboss.recovery.cut import Cut, cut
from strawboss.recovery.evidence import Pane
from strawboss.recovery.facts import Facts
from strawboss.recovery.keys import GAVE_UP, SEEN
from strawboss.recovery.machine import step
from strawboss.recovery.round import Round
from strawboss.recovery.verdict import no

Commands = Generator[Command, Any, None]
Asks = Generator[Command, Any, bool]
SUCCEEDED = "every step succeeded"


def write_key(round_: Round, key: str, run: str, **data: str) -> Asks:
    """Whether the key is durable. Where it is not, nothing may follow, and one warning says so."""
    answer = yield WriteKey(key, run, {**data, "at": messages.iso(round_.now.wall)})
    if answer is True:
        round_.keys[key, run] = round_.keys.get((key, run), 0) + 1
        return True
    if round_.first_time(f"key {key} {run}"):
        watch = round_.watches[run]
        yield Notify("warning", messages.key_missing(key, watch.name, run, watch.session_file))
    return False


def note_running(round_: Round, run: str, pane: Pane) -> Commands:
    """spec/1: while the child runs as it was started, its terminal is noted; a live handoff gives it a new one."""
    facts = round_.facts[run]
    if pane.terminal is None or pane.terminal == facts.keys.terminal:
        return
    if (yield from write_key(round_, SEEN, run, terminal=pane.terminal, pane=pane.id)):
        keys = replace(facts.keys, terminal=pane.terminal, pane=pane.id)
        round_.facts[run] = replace(facts, keys=keys, handed_over=facts.keys.terminal is not None)
        round_.watches[run] = replace(round_.watches[run], noted=True)
    else:
        # What was seen holds for this process all the same: a pi there is no restored one.
        round_.watches[run] = replace(round_.watches[run], ran_in=pane.terminal)


def move(round_: Round, run: str, event: restored.Event) -> None:
    """The restored machine takes a step."""
    watch = round_.watches[run]
    round_.watches[run] = replace(watch, restored=step(restored.TRANSITIONS, watch.restored, event))


def fail(round_: Round, run: str, why: str) -> Commands:
    """spec/1: a step that fails is shown as a warning, recorded as gaveUp, and not tried again."""
    facts = round_.facts[run]
    yield from give_up(round_, run, why)
    yield Notify("warning", messages.step_failed(facts.name, run, session_file(facts), why))


def give_up(round_: Round, run: str, why: str) -> Commands:
    obstacle = no(SUCCEEDED, why)
    move(round_, run, restored.Event.STEP_FAILED)
    round_.watches[run] = replace(round_.watches[run], obstacle=obstacle, restored_obstacle=obstacle)
    yield from record_failure(round_, run)


def record_failure(round_: Round, run: str) -> Commands:
    """Until its key is durable a failed step is only remembered: each look tries to write it down."""
    obstacle = round_.watches[run].restored_obstacle
    why = obstacle.why if obstacle else ""
    if (yield from write_key(round_, GAVE_UP, run, why=why)):
        move(round_, run, restored.Event.GAVE_UP_WRITTEN)


def read_turn(round_: Round, run: str) -> Generator[Command, Any, Cut]:
    facts = round_.facts[run]
    tail = yield ReadTail(session_file(facts))
    return cut(tail, round_.settings, facts.activity, restored=True)


def text_for(round_: Round, run: str, turn: Cut) -> str:
    """What the child is to be told, by whatever road."""
    at, file = messages.iso(round_.now.wall), session_file(round_.facts[run])
    if turn.holds:
        return messages.cut_text(at, run, file, turn.at, turn.calls)
    return messages.follow_up(at, run, file, turn.at)


def session_file(facts: Facts) -> str:
    assert facts.script is not None
    return facts.script.session_file
