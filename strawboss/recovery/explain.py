"""Every condition for one run, with all evidence asked for: what `strawboss explain` prints."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from strawboss.recovery import nudge, restored
from strawboss.recovery.commands import (
    ListPanes,
    ListSessions,
    ProcessInfo,
    Read,
    ReadRegistry,
    ReadRun,
    ReadRuns,
    ReadTail,
    ReadTranscript,
)
from strawboss.recovery.cut import cut
from strawboss.recovery.evidence import Launcher, Registry, Runs, Tail, Transcript
from strawboss.recovery.facts import Facts
from strawboss.recovery.keys import NOTHING, fold
from strawboss.recovery.settings import Settings
from strawboss.recovery.verdict import Unknown, Verdict, unknown

Explanation = tuple[tuple[str, tuple[Verdict, ...]], ...]
NO_ACTIVITY = Unknown("it has no activity file")


def explain(launcher: Launcher, settings: Settings, run: str) -> Generator[Read, Any, Explanation]:
    """Both machines and the turn, each with its conditions in the order a look asks them. Changes nothing."""
    registry: Registry | Unknown = yield ReadRegistry()
    transcript: Transcript | Unknown = yield ReadTranscript()
    facts = yield from _gather(launcher, settings, run, registry, transcript)
    tail: Tail | Unknown = Unknown("its session file is not known")
    if facts.script is not None:
        tail = yield ReadTail(facts.script.session_file)
    world = [
        unknown(f"the {what} can be read", evidence)
        for what, evidence in (("registry", registry), ("transcript", transcript))
        if isinstance(evidence, Unknown)
    ]
    before_a_close = [restored.is_not_contradicted(facts, tail), restored.can_be_resumed(tail)]
    turn = cut(tail, settings, facts.activity, restored=restored.restore_happened(facts).holds)
    return (
        ("nudge", (*world, *(condition(facts) for condition in nudge.CONDITIONS))),
        (
            restored.kind(facts),
            (*world, *(condition(facts) for condition in restored.CONDITIONS), *before_a_close),
        ),
        ("turn", (turn.verdict,)),
    )


def _gather(
    launcher: Launcher,
    settings: Settings,
    run: str,
    registry: Registry | Unknown,
    transcript: Transcript | Unknown,
) -> Generator[Read, Any, Facts]:
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
    )
    pane = facts.pane or restored.restored_pane(facts)
    return replace(facts, processes=(yield ProcessInfo(pane.id))) if pane else facts
