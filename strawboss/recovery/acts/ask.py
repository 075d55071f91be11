"""The nudge: one message to a finished child, once (spec/1, first part)."""

from __future__ import annotations

from dataclasses import replace

from strawboss.recovery import messages, nudge
from strawboss.recovery.acts.step import Commands, session_file, write_key
from strawboss.recovery.commands import Notify, Outcome, Result, SendIntercom
from strawboss.recovery.evidence import Activity
from strawboss.recovery.keys import NUDGED
from strawboss.recovery.machine import step
from strawboss.recovery.round import Round


def ask_found(round_: Round) -> Commands:
    """Everybody whom this look found for the second time."""
    for run in list(round_.facts):
        if round_.watches[run].nudge is nudge.State.FOUND_TWICE:
            yield from _ask(round_, run)


def _ask(round_: Round, run: str) -> Commands:
    facts = round_.facts[run]
    peer = facts.peer
    assert peer is not None
    if not (yield from write_key(round_, NUDGED, run)):
        _move(round_, run, nudge.Event.KEY_MISSING)
        return
    _move(round_, run, nudge.Event.KEY_WRITTEN)
    result: Result = yield SendIntercom(peer.id, peer.epoch, _request(round_, run))
    if result.outcome is Outcome.DONE:
        _move(round_, run, nudge.Event.ACCEPTED)
        yield Notify("info", messages.nudged(facts.name, run))
    else:
        _move(round_, run, nudge.Event.REFUSED)
        why = result.why or result.outcome.value
        yield Notify("warning", messages.nudge_failed(facts.name, run, session_file(facts), why))


def _request(round_: Round, run: str) -> str:
    facts = round_.facts[run]
    ended = facts.activity.updated_at if isinstance(facts.activity, Activity) else round_.now.wall
    at, name = messages.iso(round_.now.wall), facts.launcher_name
    return messages.report_request(
        at, round_.launcher.id, name, run, session_file(facts), messages.iso(ended)
    )


def _move(round_: Round, run: str, event: nudge.Event) -> None:
    watch = round_.watches[run]
    round_.watches[run] = replace(watch, nudge=step(nudge.TRANSITIONS, watch.nudge, event))
