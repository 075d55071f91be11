"""What a look does: note, nudge, close, continue, tell. In every act the key comes first and is durable (spec/1)."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from strawboss.recovery import messages, nudge, restored
from strawboss.recovery.commands import (
    ClosePane,
    Command,
    ListPanes,
    ListSessions,
    Notify,
    Outcome,
    Pause,
    ProcessInfo,
    ReadSession,
    ReadTail,
    ReadTranscript,
    Result,
    SendIntercom,
    SessionState,
    TellLauncher,
    WriteKey,
)
from strawboss.recovery.cut import Cut, cut
from strawboss.recovery.evidence import Activity, Clock, Pane, Panes, Processes, Tail, Transcript, Worktree
from strawboss.recovery.facts import Facts
from strawboss.recovery.keys import (
    CLOSING,
    CONTINUED,
    GAVE_UP,
    LOST,
    NUDGED,
    RESUMED,
    SEEN,
    UNCLOSED,
)
from strawboss.recovery.machine import step
from strawboss.recovery.messages import Handover, WorktreeHandover
from strawboss.recovery.settings import Settings
from strawboss.recovery.verdict import Unknown, Verdict, first_obstacle, no
from strawboss.recovery.watch import EARLY, Found, Watch

if TYPE_CHECKING:
    from strawboss.recovery.check import Round

Commands = Generator[Command, Any, None]
Asks = Generator[Command, Any, bool]

POLL_SECONDS = 0.25
MAYBE_TOLD = "Straw Boss was restarted while it told it, so look first whether it is at work"


# -- proofs: twice in a row, an interval apart, the same thing -------------------------------------------------


def found_for_nudge(watch: Watch, what: str, now: Clock, settings: Settings) -> Watch:
    again = _is_again(watch.nudge_found, what, now, settings)
    event = nudge.Event.FOUND_AGAIN if again else nudge.Event.FOUND
    found = watch.nudge_found if again else Found(now.monotonic, what)
    state = step(nudge.TRANSITIONS, watch.nudge, event)
    return replace(watch, nudge=state, nudge_found=found, nudge_misses=0)


def found_restored(watch: Watch, what: str, now: Clock, settings: Settings) -> Watch:
    again = _is_again(watch.restored_found, what, now, settings)
    event = restored.Event.FOUND_AGAIN if again else restored.Event.FOUND
    found = watch.restored_found if again else Found(now.monotonic, what)
    state = step(restored.TRANSITIONS, watch.restored, event)
    return replace(watch, restored=state, restored_found=found, restored_misses=0)


def _is_again(found: Found | None, what: str, now: Clock, settings: Settings) -> bool:
    return found is not None and found.what == what and now.monotonic - found.at >= settings.interval * EARLY


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


# -- keys ------------------------------------------------------------------------------------------------------


def write_key(round_: Round, key: str, run: str, **data: str) -> Asks:
    """Whether the key is durable. Where it is not, nothing may follow, and one warning says so."""
    answer = yield WriteKey(key, run, {**data, "at": messages.iso(round_.now.wall)})
    if answer is True:
        round_.keys[key, run] = round_.keys.get((key, run), 0) + 1
        return True
    if round_.first_time(f"key {key} {run}"):
        yield Notify("warning", messages.key_missing(key, round_.watches[run].name, run))
    return False


def note_running(round_: Round, run: str, pane: Pane) -> Commands:
    """spec/1: while the child runs as it was started, its terminal is noted; a live handoff gives it a new one."""
    facts = round_.facts[run]
    if pane.terminal is None or pane.terminal == facts.keys.terminal:
        return
    if (yield from write_key(round_, SEEN, run, terminal=pane.terminal, pane=pane.id)):
        round_.facts[run] = replace(facts, keys=replace(facts.keys, terminal=pane.terminal))
        round_.watches[run] = replace(round_.watches[run], noted=True)


# -- the nudge -------------------------------------------------------------------------------------------------


def act_on_found(round_: Round) -> Commands:
    """Everything that this look found for the second time, and every run it gives up on."""
    for run in list(round_.facts):
        if round_.watches[run].nudge is nudge.State.FOUND_TWICE:
            yield from _nudge(round_, run)
    for run in list(round_.facts):
        if round_.watches[run].restored is restored.State.FOUND_TWICE:
            yield from _recover(round_, run)
    yield from _say_given_up(round_)


def _nudge(round_: Round, run: str) -> Commands:
    facts = round_.facts[run]
    peer, script = facts.peer, facts.script
    assert peer is not None
    assert script is not None
    if not (yield from write_key(round_, NUDGED, run)):
        _nudge_event(round_, run, nudge.Event.KEY_MISSING)
        return
    _nudge_event(round_, run, nudge.Event.KEY_WRITTEN)
    ended = facts.activity.updated_at if isinstance(facts.activity, Activity) else round_.now.wall
    launcher = round_.launcher
    text = messages.report_request(
        launcher.id, facts.launcher_name, run, script.session_file, messages.iso(ended)
    )
    result: Result = yield SendIntercom(peer.id, peer.epoch, text)
    if result.outcome is Outcome.DONE:
        _nudge_event(round_, run, nudge.Event.ACCEPTED)
        yield Notify("info", messages.nudged(facts.name, run))
    else:
        _nudge_event(round_, run, nudge.Event.REFUSED)
        why = result.why or result.outcome.value
        yield Notify("warning", messages.nudge_failed(facts.name, run, script.session_file, why))


def _nudge_event(round_: Round, run: str, event: nudge.Event) -> None:
    watch = round_.watches[run]
    round_.watches[run] = replace(watch, nudge=step(nudge.TRANSITIONS, watch.nudge, event))


# -- the restored run ------------------------------------------------------------------------------------------


def _recover(round_: Round, run: str) -> Commands:
    """Found twice: close its pane, or, in a managed worktree, tell the child to go on."""
    facts = yield from _with_fresh_roster(round_, run)
    tail: Tail | Unknown = yield ReadTail(_session_file(facts))
    obstacle = _last_obstacle(facts, tail)
    if obstacle is not None:
        watch = replace(round_.watches[run], obstacle=obstacle, restored_obstacle=obstacle)
        round_.watches[run] = not_found_restored(watch, missed=True)
        return
    turn = cut(tail, round_.settings, facts.activity, restored=True)
    if restored.is_worktree(facts):
        yield from _continue_worktree(round_, run, turn)
    else:
        yield from _close(round_, run, turn)


def _last_obstacle(facts: Facts, tail: Tail | Unknown) -> Verdict | None:
    verdicts = [restored.is_not_contradicted(facts, tail)]
    if not restored.is_worktree(facts):
        verdicts.insert(0, restored.can_be_resumed(tail))
    return next((verdict for verdict in verdicts if not verdict.holds), None)


def _with_fresh_roster(round_: Round, run: str) -> Generator[Command, Any, Facts]:
    facts = replace(round_.facts[run], roster=(yield ListSessions()))
    round_.facts[run] = facts
    return facts


def _close(round_: Round, run: str, turn: Cut) -> Commands:
    facts = round_.facts[run]
    pane = restored.restored_pane(facts)
    assert pane is not None
    if not (yield from write_key(round_, CLOSING, run, pane=pane.id, terminal=str(pane.terminal))):
        _event(round_, run, restored.Event.KEY_MISSING)
        return
    _event(round_, run, restored.Event.CLOSING_WRITTEN)
    verdict = yield from _still_restored(round_, run)
    if isinstance(verdict, Unknown):
        _event(round_, run, restored.Event.UNSEEN)
    elif verdict is not None:
        yield from _take_back(round_, run, verdict)
    else:
        yield from _close_and_wait(round_, run, pane, turn)


def _still_restored(round_: Round, run: str) -> Generator[Command, Any, Verdict | Unknown | None]:
    """The proof once more, right before the close: pane ids can change hands (R15)."""
    panes: Panes | Unknown = yield ListPanes()
    if isinstance(panes, Unknown):
        return panes
    facts = replace(round_.facts[run], panes=panes)
    obstacle = first_obstacle(facts, restored.BY_PANES)
    if obstacle is not None:
        return obstacle
    pane = restored.restored_pane(facts)
    assert pane is not None
    found = round_.watches[run].restored_found
    if found is None or pane.terminal != found.what:
        return no("it is the pane that was found", "its terminal has changed")
    processes: Processes | Unknown = yield ProcessInfo(pane.id)
    return first_obstacle(replace(facts, processes=processes), restored.BY_PROCESSES)


def _close_and_wait(round_: Round, run: str, pane: Pane, turn: Cut) -> Commands:
    result: Result = yield ClosePane(pane.id)
    if result.outcome is Outcome.FAILED:
        yield from _fail(round_, run, f"its restored pane {pane.id} could not be closed: {result.why}")
        return
    gone = yield from _wait_until_gone(round_.facts[run], pane)
    if isinstance(gone, Unknown):
        _event(round_, run, restored.Event.UNSEEN)
    elif gone:
        _pane_is_gone(round_, run, turn)
    else:
        yield from _fail(round_, run, f"its restored pane {pane.id} stays open")


def _wait_until_gone(facts: Facts, pane: Pane) -> Generator[Command, Any, bool | Unknown]:
    """Poll the list for five seconds. An ok reply is no effect (R24), and a server-side wait could hang (R14)."""
    started: float = yield Pause(0)
    while True:
        panes: Panes | Unknown = yield ListPanes()
        if not isinstance(panes, Unknown) and _is_gone(replace(facts, panes=panes), pane):
            return True
        if (yield Pause(POLL_SECONDS)) - started >= restored.GONE_SECONDS:
            return panes if isinstance(panes, Unknown) else False


def _is_gone(facts: Facts, pane: Pane) -> bool:
    listed = restored.restored_pane(facts)
    return not facts.own_panes and (listed is None or listed.terminal not in (None, pane.terminal))


def _pane_is_gone(round_: Round, run: str, turn: Cut) -> None:
    _event(round_, run, restored.Event.PANE_GONE)
    facts = round_.facts[run]
    auto_exit = facts.script.auto_exit if facts.script else True
    handover = Handover(
        run, facts.name, _session_file(facts), turn.at, _text(facts, turn), turn.holds, auto_exit
    )
    round_.watches[run] = replace(round_.watches[run], handover=handover)


def _take_back(round_: Round, run: str, why: Verdict) -> Commands:
    """The close was not sent or never took effect: the key is taken back, the proof starts from the beginning."""
    if (yield from write_key(round_, UNCLOSED, run, why=str(why))):
        _event(round_, run, restored.Event.CHANGED)
        round_.watches[run] = replace(
            round_.watches[run], restored_found=None, restored_misses=0, obstacle=why
        )
    else:
        _event(round_, run, restored.Event.UNSEEN)


# -- the worktree child ----------------------------------------------------------------------------------------


def _continue_worktree(round_: Round, run: str, turn: Cut) -> Commands:
    facts, watch = round_.facts[run], round_.watches[run]
    if not turn.holds:
        _hand_over_worktree(round_, run, turn, restored.Event.NOT_TOLD)
        return
    obstacle = _out_of_reach(facts)
    if obstacle and watch.unreachable + 1 < restored.REACH_LOOKS:
        _event(round_, run, restored.Event.NOT_REACHABLE)
        round_.watches[run] = replace(round_.watches[run], unreachable=watch.unreachable + 1)
    elif obstacle:
        _hand_over_worktree(
            round_, run, turn, restored.Event.NOT_TOLD, why_not=f"it could not be reached: {obstacle}"
        )
    elif not (yield from write_key(round_, CONTINUED, run)):
        _event(round_, run, restored.Event.KEY_MISSING)
    else:
        _event(round_, run, restored.Event.CONTINUED_WRITTEN)
        why_not = yield from _tell_child(round_, run, turn)
        _hand_over_worktree(round_, run, turn, restored.Event.SENT, told=not why_not, why_not=why_not)


def _out_of_reach(facts: Facts) -> str:
    obstacle = first_obstacle(
        facts, (nudge.launcher_is_reachable, nudge.has_a_session, nudge.session_is_idle)
    )
    return str(obstacle) if obstacle else ""


def _tell_child(round_: Round, run: str, turn: Cut) -> Generator[Command, Any, str]:
    """Send the text, unless somebody went on with the child meanwhile. Returns why it was not told, or nothing."""
    facts = round_.facts[run]
    peer, file, launcher = facts.peer, _session_file(facts), round_.launcher
    assert peer is not None
    now = cut((yield ReadTail(file)), round_.settings, facts.activity, restored=True)
    if not now.holds or now.last != turn.last:
        return "somebody went on with it"
    text = messages.with_address(_text(facts, turn), launcher.id, facts.launcher_name)
    result: Result = yield SendIntercom(peer.id, peer.epoch, text)
    if result.outcome is Outcome.DONE:
        return ""
    if result.outcome is Outcome.UNKNOWN:
        return f"it is not known whether the text arrived: {result.why}; look first whether it is at work"
    return f"pi-intercom did not take the text: {result.why}"


def _hand_over_worktree(
    round_: Round, run: str, turn: Cut, event: restored.Event, *, told: bool = False, why_not: str = ""
) -> None:
    _event(round_, run, event)
    handover = _worktree_handover(round_.facts[run], turn, told=told, why_not=why_not)
    round_.watches[run] = replace(round_.watches[run], handover=handover)


def _worktree_handover(facts: Facts, turn: Cut, *, told: bool, why_not: str) -> Handover:
    manifest = facts.files.worktree if isinstance(facts.files.worktree, Worktree) else Worktree("")
    pane = manifest.pane or (facts.script.surface if facts.script else "")
    place = WorktreeHandover(pane, manifest.path, manifest.branch, told, why_not)
    return Handover(
        facts.run, facts.name, _session_file(facts), turn.at, _text(facts, turn), turn.holds, worktree=place
    )


# -- going on with what an earlier look, or an earlier process, began -------------------------------------------


def confirm_taken(round_: Round) -> Commands:
    """Where the session has taken our message, `resumed` is due, whatever died in between."""
    for run, facts in round_.facts.items():
        if run in facts.transcript.told and facts.keys.acted is None:
            yield from _taken(round_, run)


def _taken(round_: Round, run: str) -> Commands:
    if (yield from write_key(round_, RESUMED, run)):
        facts = round_.facts[run]
        round_.facts[run] = replace(facts, keys=replace(facts.keys, resumed=True))
        round_.watches[run] = replace(round_.watches[run], restored=restored.State.RESUMED, obstacle=None)


def go_on(round_: Round) -> Commands:
    """Every run whose closing or continued key is written, or whose message is on its way."""
    for run in list(round_.facts):
        if round_.watches[run].restored not in restored.UNDER_WAY:
            continue
        facts = round_.facts[run]
        obstacle = first_obstacle(facts, restored.TO_GO_ON)
        round_.watches[run] = replace(round_.watches[run], obstacle=obstacle, machine=restored.kind(facts))
        if obstacle is None:
            yield from _go_on(round_, run)


def _go_on(round_: Round, run: str) -> Commands:
    state = round_.watches[run].restored
    if state is restored.State.CLOSING:
        yield from _go_on_closing(round_, run)
    elif state is restored.State.CONTINUED:
        turn = yield from _turn(round_, run)
        _hand_over_worktree(round_, run, turn, restored.Event.SENT, why_not=MAYBE_TOLD)
    elif state is restored.State.TOLD:
        yield from _go_on_told(round_, run)


def _go_on_closing(round_: Round, run: str) -> Commands:
    facts = round_.facts[run]
    if isinstance(facts.panes, Unknown):
        _event(round_, run, restored.Event.UNSEEN)
    elif restored.pane_is_gone(facts):
        _pane_is_gone(round_, run, (yield from _turn(round_, run)))
    else:
        yield from _take_back(
            round_, run, no("its pane is gone", "it is still open, so the close never took effect")
        )


def _turn(round_: Round, run: str) -> Generator[Command, Any, Cut]:
    facts = round_.facts[run]
    return cut((yield ReadTail(_session_file(facts))), round_.settings, facts.activity, restored=True)


def _go_on_told(round_: Round, run: str) -> Commands:
    """The message was accepted and is not in the session: once the session is settled, it was dropped (DESIGN 8)."""
    state: SessionState | Unknown = yield ReadSession()
    if isinstance(state, Unknown) or state.compacting or not state.idle:
        _event(round_, run, restored.Event.NOT_NOW)
    elif round_.watches[run].puts < restored.PUTS:
        _event(round_, run, restored.Event.DROPPED)
    else:
        yield from _fail(round_, run, "the session dropped the message about it every time")


# -- the launcher's message ------------------------------------------------------------------------------------


def tell_launcher(round_: Round) -> Commands:
    """One message for all runs that are ready for it; `resumed` once the session has taken it."""
    runs = [run for run in round_.facts if round_.watches[run].restored is restored.State.TO_TELL]
    if not runs:
        return
    state: SessionState | Unknown = yield ReadSession()
    if isinstance(state, Unknown) or state.compacting:
        _all(round_, runs, restored.Event.NOT_NOW)
        return
    result: Result = yield _message(round_, runs)
    if result.outcome is Outcome.FAILED:
        yield from _tell_failed(round_, runs, result.why)
        return
    _all(round_, runs, restored.Event.PUT)
    for run in runs:
        round_.watches[run] = replace(round_.watches[run], puts=round_.watches[run].puts + 1)
    yield from _confirm(round_, runs)


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


def _tell_failed(round_: Round, runs: Sequence[str], why: str) -> Commands:
    for run in runs:
        yield from write_key(
            round_, GAVE_UP, run, why=f"the message could not be put into the session: {why}"
        )
        _event(round_, run, restored.Event.STEP_FAILED)
    sessions = [(round_.watches[run].name, _session_file(round_.facts[run])) for run in runs]
    yield Notify("warning", messages.tell_failed(sessions, why))


# -- giving up -------------------------------------------------------------------------------------------------


def _fail(round_: Round, run: str, why: str) -> Commands:
    """spec/1: a step that fails is shown as a warning, recorded as gaveUp, and not tried again."""
    facts = round_.facts[run]
    yield from write_key(round_, GAVE_UP, run, why=why)
    _event(round_, run, restored.Event.STEP_FAILED)
    round_.watches[run] = replace(round_.watches[run], obstacle=no("every step succeeded", why))
    yield Notify("warning", messages.step_failed(facts.name, run, _session_file(facts), why))


def _say_given_up(round_: Round) -> Commands:
    """Silent, but for a run whose close had been taken back, and for runs that are lost (DESIGN section 8)."""
    lost = []
    for run, facts in round_.facts.items():
        watch = round_.watches[run]
        obstacle = watch.restored_obstacle
        if watch.restored is not restored.State.GIVEN_UP or obstacle is None or facts.tracked:
            continue
        if not round_.first_time(f"given up {run}"):
            continue
        if facts.keys.taken_back:
            file = _session_file(facts)
            yield Notify("warning", messages.taken_back_given_up(facts.name, run, file, str(obstacle)))
        elif _is_lost(facts, obstacle) and (yield from write_key(round_, LOST, run)):
            lost.append(run)
    if lost:
        sessions = [(round_.watches[run].name, _session_file(round_.facts[run])) for run in lost]
        yield Notify("warning", messages.lost(sessions))


def _is_lost(facts: Facts, obstacle: Verdict) -> bool:
    seen = facts.keys.terminal is not None and not facts.keys.lost
    return seen and restored.nobody_is_there(facts, obstacle)


# -- small change ----------------------------------------------------------------------------------------------


def _text(facts: Facts, turn: Cut) -> str:
    file = _session_file(facts)
    if turn.holds:
        return messages.cut_text(facts.run, file, turn.at, turn.calls)
    return messages.follow_up(facts.run, file, turn.at)


def _session_file(facts: Facts) -> str:
    assert facts.script is not None
    return facts.script.session_file


def _event(round_: Round, run: str, event: restored.Event) -> None:
    watch = round_.watches[run]
    round_.watches[run] = replace(watch, restored=step(restored.TRANSITIONS, watch.restored, event))


def _all(round_: Round, runs: Sequence[str], event: restored.Event) -> None:
    for run in runs:
        _event(round_, run, event)
