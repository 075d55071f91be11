"""Every condition for one run, with all evidence asked for: what `strawboss explain` prints."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from strawboss.recovery.commands import (
    Command,
    ListPanes,
    ListSessions,
    ReadRegistry,
    ReadRun,
    ReadRuns,
    ReadTranscript,
)
from strawboss.recovery.evidence import Launcher, Registry, Runs, Transcript
from strawboss.recovery.facts import Facts
from strawboss.recovery.keys import NOTHING, fold
from strawboss.recovery.look import MACHINES
from strawboss.recovery.recheck import (
    NO_ACTIVITY,
    REGISTRY_READABLE,
    TRANSCRIPT_READABLE,
    with_processes,
    with_witnesses,
)
from strawboss.recovery.restored.conditions import restore_happened
from strawboss.recovery.settings import Settings
from strawboss.recovery.turn import turn_of
from strawboss.recovery.verdict import Unknown, Verdict

Explanation = tuple[tuple[str, tuple[Verdict, ...]], ...]


def explain(launcher: Launcher, settings: Settings, run: str) -> Generator[Command, Any, Explanation]:
    """Every machine and the turn, each with its conditions in the order a look asks them. Changes nothing."""
    registry: Registry | Unknown = yield ReadRegistry()
    transcript: Transcript | Unknown = yield ReadTranscript()
    facts = yield from _gather(launcher, settings, run, registry, transcript)
    world = [
        readable.unknown(evidence)
        for readable, evidence in ((REGISTRY_READABLE, registry), (TRANSCRIPT_READABLE, transcript))
        if isinstance(evidence, Unknown)
    ]
    turn = turn_of(facts.tail, facts.forks, settings, facts.activity, restored=restore_happened(facts).holds)
    machines = tuple(
        (machine.called(facts), (*world, *(one(facts) for one in machine.conditions))) for machine in MACHINES
    )
    return (*machines, ("turn", (turn.verdict,)))


def _gather(
    launcher: Launcher,
    settings: Settings,
    run: str,
    registry: Registry | Unknown,
    transcript: Transcript | Unknown,
) -> Generator[Command, Any, Facts]:
    runs: Runs | Unknown = yield ReadRuns()
    read = Transcript() if isinstance(transcript, Unknown) else transcript
    facts = Facts(
        launcher,
        settings,
        run,
        tracked=not isinstance(registry, Unknown) and run in registry,
        activity=runs if isinstance(runs, Unknown) else runs.get(run, NO_ACTIVITY),
        files=(yield ReadRun(run)),
        transcript=read,
        keys=fold(read.keys).get(run, NOTHING),
        roster=(yield ListSessions()),
        panes=(yield ListPanes()),
        tail=Unknown("its session file is not known"),
        forks=Unknown("its session file is not known"),
    )
    return (yield from with_witnesses((yield from with_processes(facts))))
