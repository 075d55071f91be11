"""Proofs: twice in a row, an interval apart, the same thing; and the misses that end them."""

from __future__ import annotations

from dataclasses import replace

from strawboss.recovery import nudge, restored
from strawboss.recovery.evidence import Clock
from strawboss.recovery.machine import step
from strawboss.recovery.settings import Settings
from strawboss.recovery.watch import EARLY, Found, Watch


def found_for_nudge(watch: Watch, what: str, now: Clock, settings: Settings) -> Watch:
    found = _since(watch.nudge_found, what, now)
    event = nudge.Event.FOUND_AGAIN if _is_long_ago(found, now, settings) else nudge.Event.FOUND
    state = step(nudge.TRANSITIONS, watch.nudge, event)
    return replace(watch, nudge=state, nudge_found=found, nudge_misses=0)


def found_restored(watch: Watch, what: str, now: Clock, settings: Settings) -> Watch:
    """Misses are kept: a run that is found again and again and never passes what is asked last is given up on too."""
    found = _since(watch.restored_found, what, now)
    event = restored.Event.FOUND_AGAIN if _is_long_ago(found, now, settings) else restored.Event.FOUND
    state = step(restored.TRANSITIONS, watch.restored, event)
    return replace(watch, restored=state, restored_found=found)


def _since(found: Found | None, what: str, now: Clock) -> Found:
    """The look that the proof counts from: another thing found starts it again, a look too soon does not."""
    return found if found is not None and found.what == what else Found(now.monotonic, what)


def _is_long_ago(found: Found, now: Clock, settings: Settings) -> bool:
    return now.monotonic - found.at >= settings.interval * EARLY


def not_found_for_nudge(watch: Watch, *, missed: bool) -> Watch:
    misses = watch.nudge_misses + missed
    event = nudge.Event.LAST_MISS if misses >= nudge.MISSES else nudge.Event.NOT_FOUND
    state = step(nudge.TRANSITIONS, watch.nudge, event)
    return replace(watch, nudge=state, nudge_found=None, nudge_misses=misses)


def not_found_restored(watch: Watch, *, missed: bool) -> Watch:
    misses = watch.restored_misses + missed
    event = restored.Event.LAST_MISS if misses >= restored.MISSES else restored.Event.NOT_FOUND
    state = step(restored.TRANSITIONS, watch.restored, event)
    return replace(watch, restored=state, restored_found=None, restored_misses=misses)
