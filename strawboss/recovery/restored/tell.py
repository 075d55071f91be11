"""The one message the launcher gets; `resumed` once the session has taken it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from strawboss.recovery.commands import (
    ListPanes,
    Notify,
    Outcome,
    ReadSession,
    ReadTranscript,
    Result,
    SessionState,
    TellLauncher,
)
from strawboss.recovery.conditions import panes_are_listed
from strawboss.recovery.evidence import Transcript
from strawboss.recovery.facts import Facts
from strawboss.recovery.journal import Asks, write_key
from strawboss.recovery.keys import NOTHING, RESUMED, fold
from strawboss.recovery.known import Commands, Known
from strawboss.recovery.proof import Found
from strawboss.recovery.recheck import look_again, with_witnesses
from strawboss.recovery.restored import messages
from strawboss.recovery.restored.conditions import CONDITIONS, TO_GO_ON
from strawboss.recovery.restored.fail import fail, give_up
from strawboss.recovery.restored.machine import NAME, Event, State, step
from strawboss.recovery.restored.numbers import PUTS
from strawboss.recovery.verdict import Answer, Unknown, Verdict, first_obstacle
from strawboss.recovery.witnesses import is_not_forked, stands_still
from strawboss.recovery.wording import iso


def tell_launcher(known: Known) -> Commands:
    """One message for all runs that are ready for it, by the newest word on each: a result may have landed meanwhile.

    The launcher's file is the last thing that is read before it.
    """
    waiting = [run for run in known.at(NAME, State.TO_TELL) if _may_be_told(known, run)]
    if not waiting:
        return
    state: SessionState | Unknown = yield ReadSession()
    if isinstance(state, Unknown) or state.compacting:
        _step_all(known, waiting, Event.NOT_NOW)
        return
    queued = [run for run in waiting if known.runs[run].handing.maybe_put and not state.idle]
    _step_all(known, queued, Event.NOT_NOW)
    ready = []
    for run in waiting:
        if run not in queued and (yield from _is_still_left_alone(known, run)):
            ready.append(run)
    if ready:
        yield from _tell_by_the_newest_word(known, ready)


def _is_still_left_alone(known: Known, run: str) -> Asks:
    """Whether nobody went on with the session of a run whose pane is closed: else it is left to a person."""
    facts = known.facts[run]
    if facts.is_worktree:
        return (yield from _waits_in_its_worktree(known, run))
    if facts.keys.claimed:
        return True
    heard = yield from with_witnesses(replace(facts, before=facts.standing or facts.before))
    obstacle = first_obstacle(heard, (is_not_forked, stands_still))
    if obstacle is None:
        return True
    if obstacle.answer is Answer.NO or (not isinstance(heard.forks, Unknown) and heard.forks):
        yield from fail(known, run, f"somebody went on with it after its pane was closed: {obstacle.why}")
    else:
        known.obstruct(run, NAME, obstacle)
    return False


def _waits_in_its_worktree(known: Known, run: str) -> Asks:
    """What is said of a child that was not told to go on is that it waits: all witnesses once more, and else another look.

    Of one that was told, or may have been, its launcher hears in any case.
    """
    if _may_have_been_told(known.facts[run]):
        return True
    facts = yield from look_again(known, run)
    if not isinstance(facts, Verdict) and _may_have_been_told(facts):
        return True
    obstacle = facts if isinstance(facts, Verdict) else first_obstacle(facts, CONDITIONS)
    if obstacle is not None:
        known.obstruct(run, NAME, obstacle)
    return obstacle is None


def _may_have_been_told(facts: Facts) -> bool:
    """By the newest keys that were read: this look may have written it."""
    return fold(facts.transcript.keys).get(facts.run, NOTHING).continued


def _tell_by_the_newest_word(known: Known, ready: Sequence[str]) -> Commands:
    transcript: Transcript | Unknown = yield ReadTranscript()
    if isinstance(transcript, Unknown):
        return
    for run in ready:
        known.learn(run, transcript=transcript)
    runs = [run for run in ready if _may_be_told(known, run)]
    if runs:
        yield from _put(known, runs)


def _put(known: Known, runs: Sequence[str]) -> Commands:
    result: Result = yield _message(known, runs)
    if result.outcome is Outcome.FAILED:
        yield from _tell_failed(known, runs, result.why)
        return
    _step_all(known, runs, Event.PUT)
    for run in runs:
        known.hand(run, puts=known.runs[run].handing.puts + 1)
    yield from _confirm(known, runs)


def _may_be_told(known: Known, run: str) -> bool:
    facts = known.facts[run]
    return not facts.is_taken and first_obstacle(facts, TO_GO_ON) is None


def _message(known: Known, runs: Sequence[str]) -> TellLauncher:
    handovers = [handover for run in runs if (handover := known.runs[run].handing.handover) is not None]
    at = iso(known.now.wall)
    name = f"straw-boss-{int(known.now.wall * 1000)}-{runs[0]}"
    return TellLauncher(name, tuple(runs), messages.resume_message(handovers, at))


def _confirm(known: Known, runs: Sequence[str]) -> Commands:
    transcript: Transcript | Unknown = yield ReadTranscript()
    if isinstance(transcript, Unknown):
        return
    for run in runs:
        facts = known.learn(run, transcript=transcript)
        if facts.is_taken and not (facts.is_worktree and isinstance(facts.panes, Unknown)):
            yield from _taken(known, run)


def confirm_taken(known: Known) -> Commands:
    """Where the session has taken our message, `resumed` is due, whatever died in between."""
    for run, facts in list(known.facts.items()):
        if not facts.is_taken or facts.keys.gave_up is not None or facts.keys.nudged:
            continue
        if facts.is_worktree and isinstance(known.learn(run, panes=(yield ListPanes())).panes, Unknown):
            # Nobody knows which stranding that was: the key waits, and the run with it.
            known.runs[run] = known.runs[run].start_over()
            known.obstruct(run, NAME, panes_are_listed(known.facts.pop(run)))
        else:
            yield from _taken(known, run)


def _taken(known: Known, run: str) -> Commands:
    """In a worktree the key carries the terminal: a further restart gives it another one."""
    facts = known.facts[run]
    pane = facts.launch_pane if facts.is_worktree else None
    terminal = pane.terminal if pane is not None else None
    stranding = {} if terminal is None else {"terminal": terminal}
    if (yield from write_key(known, RESUMED, run, **stranding)):
        step(known, run, Event.TAKEN)
        known.learn(run, keys=replace(facts.keys, handed_in=facts.keys.handed_in | {terminal or ""}))
        known.remember(run, obstacle=None)
    elif terminal is not None:
        proof = known.runs[run].proof(NAME)  # the key may turn up late: then it is known by its terminal
        known.prove(run, NAME, replace(proof, found=Found(known.now.monotonic, terminal)))


def go_on_told(known: Known, run: str) -> Commands:
    """The message was accepted and is not in the session: once the session is settled, it was dropped."""
    state: SessionState | Unknown = yield ReadSession()
    if isinstance(state, Unknown) or state.compacting or not state.idle:
        step(known, run, Event.NOT_NOW)
    elif known.runs[run].handing.puts < PUTS:
        step(known, run, Event.DROPPED)
    else:
        yield from fail(known, run, "the session dropped the message about it every time")


def _tell_failed(known: Known, runs: Sequence[str], why: str) -> Commands:
    for run in runs:
        yield from give_up(known, run, f"the message could not be put into the session: {why}")
    sessions = [(known.runs[run].name, known.facts[run].session_file) for run in runs]
    yield Notify("warning", messages.tell_failed(sessions, why))


def _step_all(known: Known, runs: Sequence[str], event: Event) -> None:
    for run in runs:
        step(known, run, event)
