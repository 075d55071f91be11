"""A run that is proven lost: one warning for all of a look, or, when that is asked for, it is handed to its launcher."""

from __future__ import annotations

from collections.abc import Sequence

from strawboss.recovery.commands import Notify
from strawboss.recovery.evidence import Worktree
from strawboss.recovery.facts import Facts
from strawboss.recovery.handover import LostRun
from strawboss.recovery.journal import write_key
from strawboss.recovery.keys import CLAIM, LOST
from strawboss.recovery.known import Commands, Known
from strawboss.recovery.lost import messages
from strawboss.recovery.lost.conditions import what_is_left
from strawboss.recovery.lost.machine import NAME, Event, step
from strawboss.recovery.proof import Finding, Stage
from strawboss.recovery.restored import machine as restored
from strawboss.recovery.settings import Beyond
from strawboss.recovery.verdict import Unknown


def act(known: Known) -> Commands:
    """The key comes first; without it the next look finds the run again."""
    said = []
    for run in known.at(NAME, Stage.FOUND_TWICE):
        claims = known.settings.lost is Beyond.RECOVER and _can_be_resumed(known.facts[run])
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


def _can_be_resumed(facts: Facts) -> bool:
    return not facts.is_worktree and not isinstance(facts.tail, Unknown)


def _told(known: Known, runs: Sequence[str]) -> list[LostRun]:
    return [
        LostRun(run, facts.name, facts.session_file, what_is_left(facts), _worktree(facts.files.worktree))
        for run in runs
        for facts in (known.facts[run],)
    ]


def _worktree(manifest: object) -> str:
    return manifest.path if isinstance(manifest, Worktree) else ""
