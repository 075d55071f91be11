"""In this order: closing, close, gone in time, message, resumed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from playbook import Playbook
from recovery.desk import Desk, KilledError, kill_at, kinds, restored
from recovery.given import (
    BASH,
    BOSS_PANE,
    BOSS_PEER,
    CUT,
    FILE,
    FILES,
    LAUNCHER,
    NEW,
    OTHER_FILE,
    PANE,
    PEER,
    PI,
    RESTORED,
    RUN,
    SEEN,
    SETTINGS,
    UNKNOWN,
    WAITING,
    now,
)

from strawboss.recovery import commands as c
from strawboss.recovery.commands import (
    ClosePane,
    Command,
    FindForks,
    ListPanes,
    ListSessions,
    Notify,
    Outcome,
    Pause,
    ProcessInfo,
    ReadRegistry,
    ReadRun,
    ReadRuns,
    ReadSession,
    ReadTail,
    ReadTranscript,
    Result,
    SessionState,
    TellLauncher,
    WriteKey,
)
from strawboss.recovery.evidence import Transcript
from strawboss.recovery.look import look_at_runs
from strawboss.recovery.memory import Memory
from strawboss.recovery.restored.numbers import GONE_SECONDS, LAST_MISS
from strawboss.recovery.verdict import Unknown


def writes(key: str) -> Any:
    return lambda command: isinstance(command, WriteKey) and (command.key, command.run) == (key, RUN)


def test_the_whole_conversation_with_every_key_before_its_effect() -> None:
    active = replace(WAITING, phase="active")
    noted = Transcript((SEEN,))

    def looked(number: int, memory: Memory) -> Playbook:
        return (
            Playbook(look_at_runs(LAUNCHER, SETTINGS, memory, now(number)))
            .asks(ReadRegistry(), frozenset())
            .asks(ReadRuns(), {RUN: active})
            .asks(ReadTranscript(), noted)
            .asks(ReadRun(RUN), FILES)
            .asks(ListPanes(), (BOSS_PANE, RESTORED))
            .asks(ProcessInfo(PANE), (PI,))
            .asks(ListSessions(), (BOSS_PEER, PEER))
            .asks(ReadTail(FILE), CUT)
            .asks(FindForks(FILE), ())
        )

    first = looked(1, Memory()).ends()
    second = (
        looked(2, first.memory)
        .asks(writes("closing"), True)
        .asks(ReadRegistry(), frozenset())  # all of it once more, right before the close
        .asks(ReadRun(RUN), FILES)
        .asks(ReadRuns(), {RUN: active})
        .asks(ListSessions(), (BOSS_PEER, PEER))
        .asks(ListPanes(), (BOSS_PANE, RESTORED))
        .asks(ProcessInfo(PANE), (PI,))
        .asks(ReadTail(FILE), CUT)
        .asks(FindForks(FILE), ())
        .asks(ReadTranscript(), noted)  # last: a result may have landed while the others were asked
        .asks(ClosePane(PANE), Result(Outcome.DONE))
        .asks(Pause(0), 100.0)
        .asks(ListPanes(), (BOSS_PANE, RESTORED))
        .asks(Pause, 100.25)
        .asks(ListPanes(), (BOSS_PANE,))
        .asks(ReadSession(), SessionState(idle=False))
        .asks(ReadTail(FILE), CUT)  # somebody may have gone on with it meanwhile
        .asks(FindForks(FILE), ())
        .asks(ReadTranscript(), noted)  # and a result may have landed
        .asks(TellLauncher, Result(Outcome.DONE))
        .asks(ReadTranscript(), replace(noted, told=(RUN,)))
        .asks(writes("resumed"), True)
    )
    [report] = second.ends().runs
    assert (report.state, report.obstacle, report.stranded) == ("resumed", None, False)


def test_the_message_has_the_cut_text_for_a_cut_turn_and_the_generic_one_for_another() -> None:
    cut_off = restored()
    cut_off.look_times(2)
    assert "restored mid-turn" in cut_off.did(TellLauncher)[0].text
    assert "The tool call (bash) got no result" in cut_off.did(TellLauncher)[0].text
    at_rest = restored(tails={FILE: replace(CUT, entries=())})
    at_rest.look_times(2)
    assert "mid-turn" not in at_rest.did(TellLauncher)[0].text
    assert "Finish the task you were given" in at_rest.did(TellLauncher)[0].text


@pytest.mark.parametrize("auto_exit", [True, False])
def test_auto_exit_false_is_passed_on_for_an_interactive_run_only(auto_exit: bool) -> None:
    script = replace(FILES.script, auto_exit=auto_exit)  # type: ignore[type-var]
    desk = restored(files={RUN: replace(FILES, script=script)})
    desk.look_times(2)
    assert ('"autoExit": false' in desk.did(TellLauncher)[0].text) is not auto_exit


def test_closing_names_the_pane_and_the_terminal_that_are_closed() -> None:
    desk = restored()
    desk.look_times(2)
    data = desk.did(WriteKey)[0].data
    assert (data["pane"], data["terminal"]) == (PANE, NEW)


# -- each failing step -------------------------------------------------------------------------------------------


def test_a_pane_that_cannot_be_closed_is_not_resumed() -> None:
    desk = restored(refuses={ClosePane: Result(Outcome.FAILED, "confirmation_required")})
    desk.look_times(5)
    assert desk.effects() == ["closing", "ClosePane", "gaveUp", "Notify"]
    assert "confirmation_required" in desk.warnings()[0]
    assert FILE in desk.warnings()[0]


def test_a_pane_that_stays_open_is_given_up_in_time() -> None:
    desk = restored()
    desk.happen = lambda _: None  # type: ignore[method-assign]
    desk.look_times(5)
    assert desk.effects() == ["closing", "ClosePane", "gaveUp", "Notify"]
    assert sum(one.seconds for one in desk.did(Pause)) == GONE_SECONDS


def test_a_close_whose_reply_was_lost_counts_by_what_is_seen() -> None:
    desk = restored(refuses={ClosePane: Result(Outcome.UNKNOWN, "timeout")})
    desk.look()

    def closed(command: Command) -> None:
        if isinstance(command, Pause):
            desk.panes = (BOSS_PANE,)

    desk.before = closed
    desk.look()
    assert desk.effects() == ["closing", "ClosePane", "TellLauncher", "resumed"]


def test_an_unwritten_closing_key_closes_nothing() -> None:
    desk = restored(broken_keys=frozenset({"closing"}))
    desk.look_times(4)
    assert set(desk.effects()) == {"closing", "Notify"}
    assert len(desk.warnings()) == 1


def test_a_list_that_fails_while_waiting_leaves_it_open_until_it_can_be_seen() -> None:
    desk = restored()
    desk.look()
    desk.before = lambda command: setattr(desk, "panes", UNKNOWN) if isinstance(command, Pause) else None
    desk.look()
    assert desk.effects() == ["closing", "ClosePane"]
    assert desk.memory.runs[RUN].proof("restored").state == "closing"
    desk.before, desk.panes = (lambda _: None), (BOSS_PANE,)
    desk.look()
    assert desk.effects() == ["closing", "ClosePane", "TellLauncher", "resumed"]


# -- the proof once more, right before the close ----------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"panes": (BOSS_PANE, replace(RESTORED, terminal="another"))},
        {"panes": (BOSS_PANE, replace(RESTORED, session=OTHER_FILE))},
        {"panes": (BOSS_PANE, replace(RESTORED, status="working"))},
        {"panes": (BOSS_PANE, replace(RESTORED, agent=None))},
        {"panes": (BOSS_PANE, RESTORED, replace(RESTORED, id="w1:p9"))},
        {"panes": (BOSS_PANE,)},
        {"processes": {PANE: (BASH, PI)}},
        {"processes": {PANE: (PI, PI)}},
        {"processes": {}},
    ],
)
def test_a_pane_that_changed_since_the_look_is_not_closed_and_the_key_taken_back(
    change: dict[str, Any],
) -> None:
    desk = restored()
    desk.look()
    desk.before = lambda command: vars(desk).update(change) if writes("closing")(command) else None
    desk.look()
    assert desk.effects() == ["closing", "unclosed"]
    assert desk.memory.runs[RUN].proof("restored").state == "watching"


def test_a_list_that_fails_right_before_the_close_closes_nothing() -> None:
    desk = restored()
    desk.look()
    desk.before = lambda command: setattr(desk, "panes", UNKNOWN) if writes("closing")(command) else None
    desk.look()
    assert desk.effects() == ["closing"]
    desk.before, desk.panes = (lambda _: None), (BOSS_PANE, RESTORED)
    desk.look()  # still open: taken back; then the proof again
    desk.look_times(2)
    assert desk.effects() == ["closing", "unclosed", "closing", "ClosePane", "TellLauncher", "resumed"]


# -- what is asked last, before any key --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [{"tails": {}}, {"roster": (BOSS_PEER, replace(PEER, id="another session"))}],
    ids=["no session file", "another session"],
)
def test_a_run_that_fails_what_is_asked_last_is_left_alone_and_given_up_in_the_end(
    change: dict[str, Any],
) -> None:
    desk = restored(**change)
    desk.look_times(40)
    assert desk.effects() == []
    assert desk.memory.runs[RUN].proof("restored").state == "given up"
    desk.forget()
    desk.look_times(10)
    assert not {ListPanes, ProcessInfo, ReadTail} & set(kinds(desk.said))


def test_a_broker_that_could_have_spoken_holds_the_close_and_one_that_never_ran_does_not() -> None:
    silent = restored(roster=UNKNOWN)
    silent.look_times(3)
    assert silent.effects() == []
    absent = restored(roster=Unknown("no broker", absent=True))
    absent.look_times(2)
    assert "ClosePane" in absent.effects()


# -- twice in a row ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "gap",
    [
        {"panes": UNKNOWN},
        {"panes": (BOSS_PANE, replace(RESTORED, status="working"))},
        {"processes": {}},
        {"registry": Unknown("?")},
        {"registry": frozenset({RUN})},
        {"panes": (BOSS_PANE, replace(RESTORED, terminal="another"))},
    ],
)
def test_anything_in_between_starts_the_count_again(gap: dict[str, Any]) -> None:
    desk = restored()
    usual = {name: getattr(desk, name) for name in gap}
    desk.look()
    vars(desk).update(gap)
    desk.look()
    vars(desk).update(usual)
    desk.look()
    assert desk.did(ClosePane) == []
    desk.look()
    assert len(desk.did(ClosePane)) == 1


# -- a process that dies -----------------------------------------------------------------------------------------


def killed(kind: type, key: str | None = None) -> Desk:
    desk = restored(before=kill_at(kind, key))
    desk.look()
    with pytest.raises(KilledError):
        desk.look()
    desk.restart()
    return desk


def test_dying_before_the_key_is_as_if_nothing_had_been() -> None:
    desk = killed(WriteKey, "closing")
    desk.look_times(2)
    assert desk.effects() == ["closing", "ClosePane", "TellLauncher", "resumed"]


def test_dying_between_key_and_close_takes_the_key_back_and_proves_again() -> None:
    desk = killed(ClosePane)
    desk.look()
    assert desk.effects() == ["closing", "unclosed"]
    desk.look_times(2)
    assert desk.effects() == ["closing", "unclosed", "closing", "ClosePane", "TellLauncher", "resumed"]


def test_dying_between_close_and_message_sends_it_at_the_next_start() -> None:
    desk = killed(TellLauncher)
    desk.look()
    assert desk.effects() == ["closing", "ClosePane", "TellLauncher", "resumed"]
    assert "The tool call (bash) got no result" in desk.did(TellLauncher)[0].text


def test_dying_between_message_and_resumed_writes_resumed_and_nothing_else() -> None:
    desk = killed(WriteKey, "resumed")
    desk.look_times(5)
    assert desk.effects() == ["closing", "ClosePane", "TellLauncher", "resumed"]


def test_dying_with_the_message_dropped_puts_it_again_once_the_session_is_settled() -> None:
    desk = restored(before=kill_at(WriteKey, "resumed"), takes_messages=False)
    desk.look_times(2)
    desk.restart()
    desk.takes_messages, desk.session = True, SessionState(idle=False)
    desk.look_times(2)
    assert len(desk.did(TellLauncher)) == 1  # it may still be queued
    desk.session = SessionState(idle=True)
    desk.look()
    assert (len(desk.did(TellLauncher)), desk.keys()[-1]) == (2, "resumed")


def test_an_unclosed_that_cannot_be_written_is_tried_again() -> None:
    desk = killed(ClosePane)
    desk.broken_keys = frozenset({"unclosed"})
    desk.look_times(2)
    assert desk.did(ClosePane) == []
    desk.broken_keys = frozenset()
    desk.look_times(3)
    assert desk.effects()[-4:] == ["closing", "ClosePane", "TellLauncher", "resumed"]


def test_a_run_taken_back_that_cannot_qualify_any_more_is_a_miss_and_the_last_one_warns_once() -> None:
    desk = killed(ClosePane)
    desk.look()
    desk.panes = (BOSS_PANE, replace(RESTORED, status="working"))
    desk.look_times(LAST_MISS - 1)
    assert desk.warnings() == []
    desk.look()
    [warning] = desk.warnings()
    assert FILE in warning
    desk.look_times(20)
    assert len(desk.warnings()) == 1


def test_a_close_under_way_waits_while_its_conditions_are_unknown() -> None:
    desk = killed(TellLauncher)
    desk.transcript = replace(desk.transcript, torn_results=frozenset({""}))
    desk.look_times(3)
    assert desk.did(TellLauncher) == []
    assert "cannot be read" in str(desk.look().runs[0].obstacle)
    desk.transcript = replace(desk.transcript, torn_results=frozenset())
    desk.look()
    assert len(desk.did(TellLauncher)) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"launcher": replace(LAUNCHER, tower=True)},
        {"launcher": replace(LAUNCHER, nested=True)},
        {"settings": replace(SETTINGS, restored=False)},
        {"registry": frozenset({RUN})},
        {"panes": (BOSS_PANE, replace(BOSS_PANE, id="w1:p9"))},
    ],
    ids=["tower", "nested", "off", "tracked", "second pi"],
)
def test_what_an_earlier_process_began_is_left_to_those_who_may(change: dict[str, Any]) -> None:
    desk = killed(TellLauncher)
    vars(desk).update(change)
    desk.look_times(3)
    assert desk.did(TellLauncher) == []
    assert desk.did(c.SendIntercom) == []


def test_a_result_that_came_meanwhile_ends_it_without_a_message() -> None:
    desk = killed(TellLauncher)
    desk.transcript = replace(desk.transcript, results=frozenset({FILE}))
    desk.look_times(3)
    assert desk.did(TellLauncher) == []


# -- several at once ---------------------------------------------------------------------------------------------


def several(*runs: str, **changes: Any) -> Desk:
    def file(run: str) -> str:
        return FILE.replace(RUN, run)

    script = FILES.script
    desk = restored(
        runs={run: replace(WAITING, phase="active") for run in runs},
        files={
            run: replace(FILES, script=replace(script, session_file=file(run), surface=f"w1:{run}"))  # type: ignore[type-var]
            for run in runs
        },
        transcript=Transcript(tuple(replace(SEEN, run=run, data={"terminal": "old"}) for run in runs)),
        tails={file(run): CUT for run in runs},
        panes=(
            BOSS_PANE,
            *(replace(RESTORED, id=f"w1:{run}", terminal=f"new-{run}", session=file(run)) for run in runs),
        ),
        processes={f"w1:{run}": (PI,) for run in runs},
        roster=(BOSS_PEER,),
    )
    vars(desk).update(changes)
    return desk


def test_all_runs_of_a_look_are_told_in_one_message() -> None:
    desk = several("a0000001", "a0000002", "a0000003")
    desk.look_times(2)
    [told] = desk.did(TellLauncher)
    assert told.runs == ("a0000001", "a0000002", "a0000003")
    assert desk.keys() == ["closing"] * 3 + ["resumed"] * 3


def test_one_pane_that_fails_leaves_the_others_theirs() -> None:
    desk = several("a0000001", "a0000002", "a0000003")
    act = desk.act
    desk.act = lambda command: (  # type: ignore[method-assign]
        Result(Outcome.FAILED, "no") if command == ClosePane("w1:a0000002") else act(command)
    )
    desk.look_times(3)
    [told] = desk.did(TellLauncher)
    assert told.runs == ("a0000001", "a0000003")
    assert [one.run for one in desk.did(WriteKey) if one.key == "gaveUp"] == ["a0000002"]
    assert len(desk.did(Notify)) == 1


def test_ten_candidates_cost_one_list_a_look() -> None:
    desk = several(*(f"a00000{number:02}" for number in range(10)), processes={})
    desk.look()
    assert len(desk.did(ListPanes)) == 1
