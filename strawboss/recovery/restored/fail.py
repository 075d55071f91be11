"""A step that fails is shown as a warning, recorded as gaveUp, and not tried again."""

from __future__ import annotations

from strawboss.recovery.commands import Notify
from strawboss.recovery.journal import write_key
from strawboss.recovery.keys import GAVE_UP
from strawboss.recovery.known import Commands, Known
from strawboss.recovery.restored import messages
from strawboss.recovery.restored.machine import NAME, Event, step
from strawboss.recovery.verdict import Named

EVERY_STEP_SUCCEEDED = Named("restored.every_step_succeeded", "every step succeeded")


def fail(known: Known, run: str, why: str) -> Commands:
    facts = known.facts[run]
    yield from give_up(known, run, why)
    yield Notify("warning", messages.step_failed(facts.name, run, facts.session_file, why))


def give_up(known: Known, run: str, why: str) -> Commands:
    """Without a warning of its own: the caller has one for several runs."""
    step(known, run, Event.STEP_FAILED)
    known.obstruct(run, NAME, EVERY_STEP_SUCCEEDED.no(why))
    yield from record_failure(known, run)


def record_failure(known: Known, run: str) -> Commands:
    """Until its key is durable a failed step is only remembered: each look tries to write it down."""
    obstacle = known.runs[run].proof(NAME).obstacle
    if (yield from write_key(known, GAVE_UP, run, why=obstacle.why if obstacle else "")):
        step(known, run, Event.GAVE_UP_WRITTEN)
