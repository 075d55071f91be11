"""One message to a finished child, once: the key first, then the message."""

from __future__ import annotations

from dataclasses import replace

from strawboss.recovery.again import warn_of_stranding, why_left_to_a_person
from strawboss.recovery.commands import Notify, Outcome, Result, SendIntercom
from strawboss.recovery.evidence import Activity
from strawboss.recovery.facts import Facts
from strawboss.recovery.journal import write_key
from strawboss.recovery.keys import NUDGED, UNNUDGED
from strawboss.recovery.known import Commands, Known
from strawboss.recovery.nudge import messages
from strawboss.recovery.nudge.conditions import CONDITIONS, who_is_found
from strawboss.recovery.nudge.machine import NAME, Event, step
from strawboss.recovery.proof import Finding, Stage
from strawboss.recovery.recheck import look_again
from strawboss.recovery.verdict import Named, Verdict, first_obstacle
from strawboss.recovery.wording import iso

SAME_CHILD = Named("nudge.it_is_the_child_that_was_found", "it is the child that was found")


def nothing_to_go_on_with(_: Known) -> Commands:
    """A nudge is one key and one message: there is nothing between two looks."""
    yield from ()


def ask_found(known: Known) -> Commands:
    """Everybody whom this look found for the second time."""
    for run in known.at(NAME, Stage.FOUND_TWICE):
        yield from _ask(known, run)


def _ask(known: Known, run: str) -> Commands:
    why = why_left_to_a_person(known.facts[run])
    if why:
        yield from _leave_to_a_person(known, run, why)
        return
    if not (yield from write_key(known, NUDGED, run)):
        step(known, run, Finding.KEY_MISSING)
        return
    step(known, run, Event.KEY_WRITTEN)
    facts = yield from look_again(known, run)
    obstacle = facts if isinstance(facts, Verdict) else _still_stranded(known, run, facts)
    if isinstance(facts, Verdict) or obstacle is not None:
        assert obstacle is not None
        yield from _take_back(known, run, obstacle)
        return
    peer = facts.peer
    assert peer is not None
    result: Result = yield SendIntercom(peer.id, peer.epoch, _request(known, run))
    if result.outcome is Outcome.DONE:
        step(known, run, Event.ACCEPTED)
        yield Notify("info", messages.nudged(facts.name, run))
    else:
        step(known, run, Event.REFUSED)
        why = result.why or result.outcome.value
        say = messages.nudge_unsure if result.outcome is Outcome.UNKNOWN else messages.nudge_failed
        yield Notify("warning", say(facts.name, run, facts.session_file, why))


def _leave_to_a_person(known: Known, run: str, why: str) -> Commands:
    pane = known.facts[run].pane
    by_hand = messages.ask_by_hand(pane.id if pane else "")
    if (yield from warn_of_stranding(known, run, NAME, why, by_hand)):
        step(known, run, Event.LEFT_TO_A_PERSON)
    else:
        step(known, run, Finding.KEY_MISSING)


def _still_stranded(known: Known, run: str, facts: Facts) -> Verdict | None:
    """A result that landed meanwhile, a child that was woken: nothing is sent to it."""
    obstacle = first_obstacle(facts, CONDITIONS)
    if obstacle is not None:
        return obstacle
    found = known.runs[run].proof(NAME).found
    same = found is not None and found.what == who_is_found(facts)
    return None if same else SAME_CHILD.no("another pane or session is there now")


def _take_back(known: Known, run: str, why: Verdict) -> Commands:
    """The message was not sent: the key is taken back, the proof starts from the beginning."""
    if (yield from write_key(known, UNNUDGED, run, why=str(why))):
        step(known, run, Event.CHANGED)
        known.prove(run, NAME, replace(known.runs[run].proof(NAME), found=None))
    known.obstruct(run, NAME, why)


def _request(known: Known, run: str) -> str:
    facts = known.facts[run]
    ended = facts.activity.updated_at if isinstance(facts.activity, Activity) else known.now.wall
    at, name = iso(known.now.wall), facts.launcher_name
    return messages.report_request(at, known.launcher.id, name, run, facts.session_file, iso(ended))
