"""The nudge, from the first look to its one message."""

from __future__ import annotations

from dataclasses import replace

import pytest
from playbook import Playbook
from recovery.desk import KilledError, kill_at, stranded
from recovery.given import (
    BASH,
    BOSS_PANE,
    BOSS_PEER,
    ENDED,
    FILE,
    FILES,
    LAUNCHER,
    PEER,
    PI,
    RUN,
    RUNNING,
    SEEN,
    SETTINGS,
    WAITING,
    now,
)

from strawboss.recovery.commands import (
    FindForks,
    ListPanes,
    ListSessions,
    Notify,
    Outcome,
    ProcessInfo,
    ReadRegistry,
    ReadRun,
    ReadRuns,
    ReadTail,
    ReadTranscript,
    Result,
    SendIntercom,
    WriteKey,
)
from strawboss.recovery.evidence import RunFiles, Transcript
from strawboss.recovery.look import look_at_runs
from strawboss.recovery.memory import Memory
from strawboss.recovery.nudge.numbers import LAST_MISS


def test_the_whole_conversation_in_order_of_cost_and_the_key_before_the_message() -> None:
    def looked(number: int, memory: Memory) -> Playbook:
        return (
            Playbook(look_at_runs(LAUNCHER, SETTINGS, memory, now(number)))
            .asks(ReadRegistry(), frozenset())
            .asks(ReadRuns(), {RUN: WAITING})
            .asks(ReadTranscript(), Transcript((SEEN,)))
            .asks(ReadRun(RUN), FILES)
            .asks(ListSessions(), (BOSS_PEER, PEER))
            .asks(ListPanes(), (BOSS_PANE, RUNNING))
            .asks(ProcessInfo(RUNNING.id), (BASH, PI))
            .asks(ReadTail(FILE), ENDED)
            .asks(FindForks(FILE), ())
        )

    first = looked(1, Memory()).ends()
    second = looked(2, first.memory)
    second.asks(lambda command: isinstance(command, WriteKey) and command.key == "nudged", True)
    second.asks(ReadRegistry(), frozenset()).asks(ReadRun(RUN), FILES).asks(ReadRuns(), {RUN: WAITING})
    second.asks(ListSessions(), (BOSS_PEER, PEER)).asks(ListPanes(), (BOSS_PANE, RUNNING))
    second.asks(ProcessInfo(RUNNING.id), (BASH, PI)).asks(ReadTail(FILE), ENDED).asks(FindForks(FILE), ())
    second.asks(ReadTranscript(), Transcript((SEEN,)))  # last: a result may have landed meanwhile
    second.asks(
        lambda command: (
            isinstance(command, SendIntercom) and (command.session, command.epoch) == (PEER.id, PEER.epoch)
        ),
        Result(Outcome.DONE),
    )
    second.asks(lambda command: isinstance(command, Notify) and command.level == "info")
    [report] = second.ends().runs
    assert (report.machine, report.state, report.obstacle) == ("nudge", "sent", None)


def test_the_request_goes_to_the_child_and_names_the_launcher_and_the_run() -> None:
    desk = stranded()
    desk.look_times(2)
    [sent] = desk.did(SendIntercom)
    assert sent.session == PEER.id
    for part in ("The Boss", '"boss"', RUN, FILE, "2026-01-01T00:00:00Z"):
        assert part in sent.text


def test_a_run_is_asked_once_for_ever() -> None:
    desk = stranded()
    desk.look_times(5)
    for _ in range(3):
        desk.restart()
        desk.look_times(5)
    assert len(desk.did(SendIntercom)) == 1


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.UNKNOWN])
def test_a_send_that_fails_or_may_have_failed_is_warned_of_once_and_not_tried_again(outcome: Outcome) -> None:
    desk = stranded(refuses={SendIntercom: Result(outcome, "E_TARGET")})
    desk.look_times(6)
    desk.restart()
    desk.look_times(6)
    assert desk.effects() == ["nudged", "SendIntercom", "Notify"]
    assert "E_TARGET" in desk.warnings()[0]


def test_a_process_that_dies_between_key_and_message_never_asks() -> None:
    desk = stranded(before=kill_at(SendIntercom))
    desk.look()
    with pytest.raises(KilledError):
        desk.look()
    desk.restart()
    desk.look_times(5)
    assert desk.effects() == ["nudged"]


def test_a_process_that_dies_before_the_key_asks_after_two_looks() -> None:
    desk = stranded(before=kill_at(WriteKey, "nudged"))
    desk.look()
    with pytest.raises(KilledError):
        desk.look()
    desk.restart()
    desk.look_times(2)
    assert desk.effects() == ["nudged", "SendIntercom", "Notify"]


@pytest.mark.parametrize(
    "gap",
    [
        {"registry": frozenset({RUN})},
        {"roster": (BOSS_PEER, replace(PEER, status="thinking"))},
        {"panes": (BOSS_PANE, replace(RUNNING, status="working"))},
        {"runs": {RUN: replace(WAITING, phase="active")}},
        {"roster": (BOSS_PEER, replace(PEER, epoch="e2"))},
    ],
    ids=["tracked again", "busy", "working", "active", "registered anew"],
)
def test_anything_in_between_starts_the_count_again(gap: dict[str, object]) -> None:
    desk = stranded()
    usual = {name: getattr(desk, name) for name in gap}
    desk.look()
    vars(desk).update(gap)
    desk.look()
    vars(desk).update(usual)
    desk.look()
    assert desk.did(SendIntercom) == []
    desk.look()
    assert len(desk.did(SendIntercom)) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"panes": (BOSS_PANE,)},
        {"panes": (BOSS_PANE, RUNNING, replace(RUNNING, id="w1:p9"))},
        {"processes": {RUNNING.id: (PI,)}},
        {"processes": {}},
        {"roster": (BOSS_PEER,)},
    ],
    ids=["no pane", "two panes", "no script", "no list", "no session"],
)
def test_a_child_without_pane_script_or_session_is_given_up_at_the_last_miss_until_a_session_start(
    changes: dict[str, object],
) -> None:
    usual = stranded()
    desk = stranded(**changes, settings=replace(SETTINGS, restored=False))
    desk.look_times(LAST_MISS - 1)
    assert desk.memory.runs[RUN].proof("nudge").state == "watching"
    desk.look()
    assert desk.memory.runs[RUN].proof("nudge").state == "given up"
    for name in changes:
        setattr(desk, name, getattr(usual, name))
    desk.forget()
    desk.look_times(5)
    assert desk.effects() == []  # given up, and silently
    assert desk.did(ListSessions) == []
    desk.restart()
    desk.look_times(2)
    assert len(desk.did(SendIntercom)) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"panes": (BOSS_PANE, replace(RUNNING, status="working"))},
        {"roster": (PEER,)},
        {"roster": (BOSS_PEER, replace(PEER, status="thinking"))},
        {"runs": {RUN: replace(WAITING, phase="active")}},
    ],
    ids=["working", "launcher away", "busy", "active"],
)
def test_a_child_at_work_or_a_world_out_of_reach_is_never_given_up_on(changes: dict[str, object]) -> None:
    usual = stranded()
    desk = stranded(**changes)
    desk.look_times(30)
    assert desk.effects() == []
    for name in changes:
        setattr(desk, name, getattr(usual, name))
    desk.look_times(2)
    assert len(desk.did(SendIntercom)) == 1


def test_several_children_in_one_look_are_asked_each_and_one_failure_stops_no_other() -> None:
    ids = ["a0000001", "a0000002", "a0000003"]

    def file(run: str) -> str:
        return FILE.replace(RUN, run)

    script = FILES.script
    assert not isinstance(script, RunFiles)
    desk = stranded(
        runs=dict.fromkeys(ids, WAITING),
        files={
            run: replace(
                FILES,
                script=replace(
                    script,  # type: ignore[type-var]
                    session_file=file(run),
                    path=BASH.argv[1].replace(RUN, run),  # type: ignore[index]
                    surface=f"w1:{run}",
                ),
            )
            for run in ids
        },
        transcript=Transcript(),
        tails={file(run): replace(ENDED, session_id=run) for run in ids},
        panes=(BOSS_PANE, *(replace(RUNNING, id=f"w1:{run}", session=file(run)) for run in ids)),
        roster=(BOSS_PEER, *(replace(PEER, id=run, pane=f"w1:{run}", pid=int(run, 16)) for run in ids)),
        processes={
            f"w1:{run}": (replace(BASH, argv=("bash", BASH.argv[1].replace(RUN, run))), PI)  # type: ignore[index]
            for run in ids
        },
    )
    desk.look()
    assert len(desk.did(ListPanes)) == len(desk.did(ListSessions)) == 1
    desk.refuses = {SendIntercom: Result(Outcome.FAILED, "no")}
    desk.look()
    assert [one.session for one in desk.did(SendIntercom)] == ids
    assert len(desk.warnings()) == 3
    assert len(desk.did(ListPanes)) == 2 + len(ids)  # and once more right before each message
