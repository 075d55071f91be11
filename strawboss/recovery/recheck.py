"""Everything that decides, read again: after a key is written and before its act leaves, the newest evidence counts."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from strawboss.recovery.commands import (
    Command,
    FindForks,
    ListPanes,
    ListSessions,
    ProcessInfo,
    ReadRegistry,
    ReadRun,
    ReadRuns,
    ReadTail,
    ReadTranscript,
)
from strawboss.recovery.evidence import Registry, Runs, Transcript
from strawboss.recovery.facts import NOT_ASKED, Facts
from strawboss.recovery.known import Known
from strawboss.recovery.verdict import Named, Unknown, Verdict

REGISTRY_READABLE = Named("look.registry_readable", "the registry can be read")
TRANSCRIPT_READABLE = Named("look.transcript_readable", "the transcript can be read")
KEYS_READABLE = Named("look.keys_readable", "its keys can be read")
TORN_KEY = "a line that may hold a key of it cannot be read"
NO_ACTIVITY = Unknown("it has no activity file")


def look_again(known: Known, run: str) -> Generator[Command, Any, Facts | Verdict]:
    """The facts of the run as they are now, or what could not be read.

    Its keys are those the look began with (the one just written is ours); what moved since this look is a change.
    """
    facts = known.facts[run]
    registry: Registry | Unknown = yield ReadRegistry()
    if isinstance(registry, Unknown):
        return REGISTRY_READABLE.unknown(registry)
    files = yield ReadRun(run)
    runs: Runs | Unknown = yield ReadRuns()
    newest = replace(
        facts,
        before=facts.standing or facts.before,
        was_connected=facts.was_connected or facts.is_connected,
        tracked=run in registry,
        activity=runs if isinstance(runs, Unknown) else runs.get(run, NO_ACTIVITY),
        files=files,
        roster=(yield ListSessions()),
        panes=(yield ListPanes()),
        processes=NOT_ASKED,
    )
    newest = yield from with_witnesses((yield from with_processes(newest)))
    return (yield from _with_transcript(newest))


def _with_transcript(facts: Facts) -> Generator[Command, Any, Facts | Verdict]:
    """The last thing that is read: a result that lands while the others are asked is seen. Only new bytes are read."""
    transcript: Transcript | Unknown = yield ReadTranscript()
    if isinstance(transcript, Unknown):
        return TRANSCRIPT_READABLE.unknown(transcript)
    if transcript.may_hold_torn_key_of(facts.run):
        return KEYS_READABLE.unknown(TORN_KEY)
    return replace(facts, transcript=transcript)


def with_processes(facts: Facts) -> Generator[Command, Any, Facts]:
    pane = facts.pane or facts.launch_pane
    return facts if pane is None else replace(facts, processes=(yield ProcessInfo(pane.id)))


def with_witnesses(facts: Facts) -> Generator[Command, Any, Facts]:
    if facts.script is None:
        return facts
    tail = yield ReadTail(facts.session_file)
    return replace(facts, tail=tail, forks=(yield FindForks(facts.session_file)))
