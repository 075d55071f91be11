"""A run that is proven lost: one warning for all of a look, or, when that is asked for, it is handed to its launcher."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from strawboss.recovery.again import why_left_to_a_person, why_never_again
from strawboss.recovery.commands import Notify
from strawboss.recovery.evidence import Worktree
from strawboss.recovery.facts import Facts
from strawboss.recovery.handover import LostRun
from strawboss.recovery.journal import write_key
from strawboss.recovery.keys import CLAIM, LOST
from strawboss.recovery.known import Commands, Known
from strawboss.recovery.lost import messages
from strawboss.recovery.lost.conditions import TO_RESUME, what_is_left
from strawboss.recovery.lost.machine import NAME, Event, step
from strawboss.recovery.proof import Finding, Stage
from strawboss.recovery.restored import machine as restored
from strawboss.recovery.settings import Beyond
from strawboss.recovery.verdict import first_obstacle


def act(known: Known) -> Commands:
    """The key comes first; without it the next look finds the run again."""
    said = []
    for run in known.at(NAME, Stage.FOUND_TWICE):
        claims = known.settings.lost is Beyond.RECOVER and first_obstacle(known.facts[run], TO_RESUME) is None
        if not (yield from write_key(known, LOST, run, **({"then": CLAIM} if claims else {}))):
            step(known, run, Finding.KEY_MISSING)
        elif claims:
            step(known, run, Event.CLAIM_WRITTEN)
            restored.step(known, run, restored.Event.CLAIM_WRITTEN)
        else:
            step(known, run, Event.SAID_WRITTEN)
            said.append(run)
    if said:
        yield Notify("warning", messages.lost(_told(known, said)))


def _told(known: Known, runs: Sequence[str]) -> list[LostRun]:
    return [_as_told(known.facts[run]) for run in runs]


def _as_told(facts: Facts) -> LostRun:
    settings = _settings_that_would(facts)
    return LostRun(
        facts.run,
        facts.name,
        facts.session_file,
        what_is_left(facts),
        _worktree(facts),
        settings,
        "" if settings else _why_not(facts),
    )


def _settings_that_would(facts: Facts) -> tuple[str, ...]:
    """What would have had it handed over, had it been in the config."""
    given = facts.settings
    asked_for = replace(facts, settings=replace(given, resumed=Beyond.RECOVER))
    if first_obstacle(asked_for, TO_RESUME) is not None:
        return ()
    resumed = ("resumed: recover",) if why_left_to_a_person(facts) else ()
    return resumed + (() if given.lost is Beyond.RECOVER else ("lost: recover",))


def _why_not(facts: Facts) -> str:
    """Where a handover was asked for, what hinders it; in any case that it was handed over often enough."""
    obstacle = first_obstacle(facts, TO_RESUME) if facts.settings.lost is Beyond.RECOVER else None
    return obstacle.why if obstacle is not None else why_never_again(facts)


def _worktree(facts: Facts) -> str | None:
    if not facts.is_worktree:
        return None
    manifest = facts.files.worktree
    return manifest.path if isinstance(manifest, Worktree) else ""
