"""One message to a finished child, once: the key first, then the message."""

from __future__ import annotations

from strawboss.recovery import messages
from strawboss.recovery.commands import Notify, Outcome, Result, SendIntercom
from strawboss.recovery.evidence import Activity
from strawboss.recovery.journal import write_key
from strawboss.recovery.keys import NUDGED
from strawboss.recovery.known import Commands, Known
from strawboss.recovery.nudge.machine import NAME, Event, step
from strawboss.recovery.proof import Finding, Stage


def nothing_to_go_on_with(_: Known) -> Commands:
    """A nudge is one key and one message: there is nothing between two looks."""
    yield from ()


def ask_found(known: Known) -> Commands:
    """Everybody whom this look found for the second time."""
    for run in known.at(NAME, Stage.FOUND_TWICE):
        yield from _ask(known, run)


def _ask(known: Known, run: str) -> Commands:
    facts = known.facts[run]
    peer = facts.peer
    assert peer is not None
    if not (yield from write_key(known, NUDGED, run)):
        step(known, run, Finding.KEY_MISSING)
        return
    step(known, run, Event.KEY_WRITTEN)
    result: Result = yield SendIntercom(peer.id, peer.epoch, _request(known, run))
    if result.outcome is Outcome.DONE:
        step(known, run, Event.ACCEPTED)
        yield Notify("info", messages.nudged(facts.name, run))
    else:
        step(known, run, Event.REFUSED)
        why = result.why or result.outcome.value
        yield Notify("warning", messages.nudge_failed(facts.name, run, facts.session_file, why))


def _request(known: Known, run: str) -> str:
    facts = known.facts[run]
    ended = facts.activity.updated_at if isinstance(facts.activity, Activity) else known.now.wall
    at, name = messages.iso(known.now.wall), facts.launcher_name
    return messages.report_request(at, known.launcher.id, name, run, facts.session_file, messages.iso(ended))
