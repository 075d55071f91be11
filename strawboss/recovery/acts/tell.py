"""The one message the launcher gets; `resumed` once the session has taken it (spec/1, DESIGN section 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from strawboss.recovery import messages, restored
from strawboss.recovery.acts.step import Commands, fail, give_up, move, session_file, write_key
from strawboss.recovery.commands import (
    Notify,
    Outcome,
    ReadSession,
    ReadTranscript,
    Result,
    SessionState,
    TellLauncher,
)
from strawboss.recovery.evidence import Transcript
from strawboss.recovery.keys import RESUMED
from strawboss.recovery.round import Round
from strawboss.recovery.verdict import Unknown, first_obstacle


def tell_launcher(round_: Round) -> Commands:
    """One message for all runs that are ready for it."""
    runs = [run for run in round_.facts if _is_ready(round_, run)]
    if not runs:
        return
    state: SessionState | Unknown = yield ReadSession()
    if isinstance(state, Unknown) or state.compacting:
        _move_all(round_, runs, restored.Event.NOT_NOW)
        return
    queued = [run for run in runs if round_.watches[run].maybe_put and not state.idle]
    _move_all(round_, queued, restored.Event.NOT_NOW)
    ready = [run for run in runs if run not in queued]
    if ready:
        yield from _put(round_, ready)


def _put(round_: Round, runs: Sequence[str]) -> Commands:
    result: Result = yield _message(round_, runs)
    if result.outcome is Outcome.FAILED:
        yield from _tell_failed(round_, runs, result.why)
        return
    _move_all(round_, runs, restored.Event.PUT)
    for run in runs:
        round_.watches[run] = replace(round_.watches[run], puts=round_.watches[run].puts + 1)
    yield from _confirm(round_, runs)


def _is_ready(round_: Round, run: str) -> bool:
    facts = round_.facts[run]
    ready = round_.watches[run].restored is restored.State.TO_TELL and run not in facts.transcript.told
    return ready and first_obstacle(facts, restored.TO_GO_ON) is None


def _message(round_: Round, runs: Sequence[str]) -> TellLauncher:
    handovers = [handover for run in runs if (handover := round_.watches[run].handover) is not None]
    at = messages.iso(round_.now.wall)
    name = f"straw-boss-{int(round_.now.wall * 1000)}-{runs[0]}"
    return TellLauncher(name, tuple(runs), messages.resume_message(handovers, at))


def _confirm(round_: Round, runs: Sequence[str]) -> Commands:
    transcript: Transcript | Unknown = yield ReadTranscript()
    if isinstance(transcript, Unknown):
        return
    for run in runs:
        if run in transcript.told:
            yield from _taken(round_, run)


def confirm_taken(round_: Round) -> Commands:
    """Where the session has taken our message, `resumed` is due, whatever died in between."""
    for run, facts in round_.facts.items():
        if run in facts.transcript.told and facts.keys.acted is None:
            yield from _taken(round_, run)


def _taken(round_: Round, run: str) -> Commands:
    if (yield from write_key(round_, RESUMED, run)):
        facts = round_.facts[run]
        move(round_, run, restored.Event.TAKEN)
        round_.facts[run] = replace(facts, keys=replace(facts.keys, resumed=True))
        round_.watches[run] = replace(round_.watches[run], obstacle=None)


def go_on_told(round_: Round, run: str) -> Commands:
    """The message was accepted and is not in the session: once the session is settled, it was dropped (DESIGN 8)."""
    state: SessionState | Unknown = yield ReadSession()
    if isinstance(state, Unknown) or state.compacting or not state.idle:
        move(round_, run, restored.Event.NOT_NOW)
    elif round_.watches[run].puts < restored.PUTS:
        move(round_, run, restored.Event.DROPPED)
    else:
        yield from fail(round_, run, "the session dropped the message about it every time")


def _tell_failed(round_: Round, runs: Sequence[str], why: str) -> Commands:
    for run in runs:
        yield from give_up(round_, run, f"the message could not be put into the session: {why}")
    sessions = [(round_.watches[run].name, session_file(round_.facts[run])) for run in runs]
    yield Notify("warning", messages.tell_failed(sessions, why))


def _move_all(round_: Round, runs: Sequence[str], event: restored.Event) -> None:
    for run in runs:
        move(round_, run, event)
