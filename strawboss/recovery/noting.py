"""While a child runs as it was started, the terminal it runs in is noted (key `seen`): a restore gives it another one."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from strawboss.recovery.commands import Command, Identify
from strawboss.recovery.evidence import Identity, Pane
from strawboss.recovery.facts import Facts, is_pi
from strawboss.recovery.journal import write_key
from strawboss.recovery.keys import SEEN, RunKeys
from strawboss.recovery.known import Commands, Known
from strawboss.recovery.memory import Noting
from strawboss.recovery.restored.conditions import TO_NOTE
from strawboss.recovery.verdict import Unknown, first_obstacle

NOTING_LOOKS = 8  # at a tracked run that could not be noted; then it costs no look until a session start


def may_be_noted(facts: Facts) -> bool:
    """A run is noted while it is tracked too; only the disk can rule that out beforehand."""
    return first_obstacle(facts, TO_NOTE) is None


def is_due(noting: Noting) -> bool:
    return not noting.noted and noting.misses < NOTING_LOOKS


def with_keys(noting: Noting, keys: RunKeys, surface: str) -> Noting:
    """`surface`: the pane its launch script names. A note of another pane (an earlier attempt's) is none."""
    is_noted = keys.terminal is not None and keys.pane in (None, surface)
    return replace(noting, noted=noting.noted or is_noted)


def missed(known: Known, run: str) -> None:
    noting = known.runs[run].noting
    known.remember(run, noting=replace(noting, misses=noting.misses + 1))


def note_running(known: Known, run: str, pane: Pane) -> Commands:
    """A restore is known by another terminal; a live handoff gives it a new terminal too."""
    facts, noting = known.facts[run], known.runs[run].noting
    if pane.terminal is None or pane.terminal == facts.keys.terminal:
        return
    pi = yield from _identify(facts)
    noted = {"pid": str(pi.pid), "started": repr(pi.started), "boot": pi.boot} if pi is not None else {}
    if (yield from write_key(known, SEEN, run, terminal=pane.terminal, pane=pane.id, **noted)):
        keys = replace(facts.keys, terminal=pane.terminal, pane=pane.id, pi=pi)
        known.learn(run, keys=keys, handed_over=facts.keys.terminal is not None)
        known.remember(run, noting=replace(noting, noted=True))
    else:
        # What was seen holds for this process all the same: a pi there is no restored one.
        known.remember(run, noting=replace(noting, ran_in=pane.terminal))


def _identify(facts: Facts) -> Generator[Command, Any, Identity | None]:
    """Which pi runs it, by pid, start and boot, so that it can be told later whether that one is gone."""
    processes = () if isinstance(facts.processes, Unknown) else facts.processes
    pids = [process.pid for process in processes if is_pi(process)]
    answer: Identity | Unknown | None = (yield Identify(pids[0])) if len(pids) == 1 else None
    return answer if isinstance(answer, Identity) else None
