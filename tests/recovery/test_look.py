"""One look at everything: its order of cost, what blinds it, what it remembers and what it reports."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playbook import Playbook
from recovery.desk import Desk, kinds, restored, stranded
from recovery.given import (
    BOSS_PANE,
    BOSS_PEER,
    FILE,
    FILES,
    LAUNCHER,
    NEW,
    OLD,
    PANE,
    PEER,
    PI,
    RESTORED,
    RUN,
    RUNNING,
    SEEN,
    SETTINGS,
    UNKNOWN,
    WAITING,
    key,
    now,
    with_script,
)

from strawboss.recovery.commands import (
    ListPanes,
    ListSessions,
    Notify,
    ProcessInfo,
    ReadRegistry,
    ReadRun,
    ReadRuns,
    ReadTranscript,
)
from strawboss.recovery.evidence import Clock, KeyEntry, RunFiles, Transcript
from strawboss.recovery.look import look_at_runs
from strawboss.recovery.memory import JUMP_SECONDS, Look, Memory
from strawboss.recovery.settings import LOOK_SECONDS
from strawboss.recovery.verdict import Answer, Unknown

BLIND: dict[str, dict[str, Any]] = {
    "registry": {"registry": UNKNOWN},
    "runs": {"runs": UNKNOWN},
    "transcript": {"transcript": UNKNOWN},
    "torn key": {"transcript": Transcript((SEEN,), torn_keys=frozenset({"*"}))},
    "torn key of it": {"transcript": Transcript((SEEN,), torn_keys=frozenset({RUN[:3] + "*"}))},
    "keys gone": {"transcript": Transcript()},
}


def test_without_runs_a_look_reads_the_registry_and_one_folder() -> None:
    look = Playbook(look_at_runs(LAUNCHER, SETTINGS, Memory(), now(1))).asks(ReadRegistry(), frozenset())
    assert look.asks(ReadRuns(), {}).ends().runs == ()


def test_an_unreadable_registry_ends_the_look_with_every_run_unknown() -> None:
    desk = stranded(registry=UNKNOWN)
    [report] = desk.look().runs
    assert kinds(desk.said) == [ReadRegistry, ReadRuns]
    assert (report.state, report.stranded) == ("not looked at", False)
    assert str(report.obstacle) == "the registry can be read: unknown (it cannot be read)"


def test_a_torn_key_of_another_run_costs_this_one_nothing() -> None:
    desk = restored()
    desk.transcript = replace(desk.transcript, torn_keys=frozenset({"b2*", "c3d4e5f6"}))
    [report] = desk.look().runs
    assert report.obstacle is None


def test_each_run_that_a_torn_key_blocks_is_told_of_once() -> None:
    desk = restored(transcript=Transcript((SEEN,), torn_keys=frozenset({"*"})))
    desk.look_times(3)
    desk.runs = {**desk.runs, "b2c3d4e5": desk.runs[RUN]}
    desk.look_times(3)
    told = [command.text for command in desk.said if isinstance(command, Notify)]
    assert [(RUN in text, "b2c3d4e5" in text) for text in told] == [(True, False), (False, True)]


@pytest.mark.parametrize("blind", BLIND.values(), ids=BLIND)
def test_a_blind_look_does_nothing_and_starts_every_proof_again(blind: dict[str, Any]) -> None:
    for desk in (stranded(), restored()):
        usual = {name: getattr(desk, name) for name in blind}
        desk.look()
        vars(desk).update(blind)
        look = desk.look()
        [report] = look.runs
        assert report.obstacle is not None
        assert report.obstacle.answer is Answer.UNKNOWN
        assert set(desk.effects()) <= {"Notify"}  # a torn key is told
        desk.forget()
        vars(desk).update(usual)
        desk.look()
        assert desk.effects() == []
        desk.look()
        assert desk.effects() != []


def test_a_run_that_was_not_in_the_folder_at_one_look_is_not_found_in_a_row() -> None:
    desk = stranded()
    desk.look()
    desk.runs = {}
    desk.look()
    desk.runs = {RUN: WAITING}
    desk.look()
    assert desk.effects() == []
    desk.look()
    assert desk.effects() != []


def test_blind_looks_are_no_misses() -> None:
    desk = restored(transcript=UNKNOWN)
    desk.look_times(20)
    desk.transcript = Transcript((SEEN,))
    desk.look_times(2)
    assert "ClosePane" in desk.effects()


def test_keys_that_this_process_wrote_may_not_vanish() -> None:
    desk = restored(before=lambda _: None)
    desk.look_times(2)
    desk.transcript = Transcript((SEEN,), told=desk.transcript.told)
    desk.runs = {**desk.runs, "b1b2c3d4": WAITING}
    desk.files["b1b2c3d4"] = FILES
    look = desk.look()
    assert "replaced or truncated" in str(next(one for one in look.runs if one.run == "b1b2c3d4").obstacle)


# -- in order of cost --------------------------------------------------------------------------------------------

COSTS: dict[str, tuple[dict[str, Any], set[type]]] = {
    "a tracked run that was noted": ({"registry": frozenset({RUN})}, set()),
    "a reported run": ({"transcript": Transcript((SEEN,), results=frozenset({FILE}))}, set()),
    "a run that was acted on": ({"transcript": Transcript((SEEN, key("nudged")))}, set()),
    "an ended run": ({"files": {RUN: replace(FILES, ended=True)}}, set()),
    "a persistent specialist": ({"files": {RUN: with_script(persistent=True)}}, set()),
    "a run without a launch script": ({"files": {RUN: RunFiles(None)}}, set()),
    "a resumed run": ({"files": {RUN: RunFiles(Unknown("its only script resumes another"))}}, set()),
    "a script of another session": ({"files": {RUN: with_script(session_file="/s/x.jsonl")}}, set()),
    "a run of a tower that works": (
        {"launcher": replace(LAUNCHER, tower=True), "runs": {RUN: replace(WAITING, phase="active")}},
        set(),
    ),
    "a child that works": ({"runs": {RUN: replace(WAITING, phase="active")}}, {ListPanes}),
    "a child that waits": ({}, {ListSessions, ListPanes, ProcessInfo}),
    "a child that waits, its launcher off intercom": ({"roster": (PEER,)}, {ListSessions, ListPanes}),
    "a child that waits, its pane at work": (
        {"panes": (BOSS_PANE, replace(RUNNING, status="working"))},
        {ListSessions, ListPanes},
    ),
    "a child of a tower that waits, the launcher off intercom": (
        {"launcher": replace(LAUNCHER, tower=True), "roster": (PEER,)},
        {ListSessions},
    ),
}


@pytest.mark.parametrize(("changes", "asked"), COSTS.values(), ids=COSTS)
def test_each_run_costs_what_it_must_and_no_more(changes: dict[str, Any], asked: set[type]) -> None:
    desk = stranded(**changes)
    desk.look()
    assert {*kinds(desk.said)} & {ListSessions, ListPanes, ProcessInfo} == asked


@pytest.mark.parametrize(
    "changes",
    [changes for name, (changes, _) in COSTS.items() if name in {"a reported run", "an ended run"}],
)
def test_a_settled_run_is_not_read_again_until_a_session_start(changes: dict[str, Any]) -> None:
    desk = stranded(**changes)
    desk.look_times(5)
    assert len(desk.did(ReadTranscript)) == len(desk.did(ReadRun)) == 1
    desk.restart()
    desk.look()
    assert len(desk.did(ReadRun)) == 2


def test_a_tracked_run_whose_script_comes_later_is_noted_then() -> None:
    desk = stranded(registry=frozenset({RUN}), transcript=Transcript(), files={RUN: RunFiles(None)})
    desk.look_times(12)
    desk.files = {RUN: FILES}
    desk.look()
    assert desk.keys() == ["seen"]


# -- the clocks --------------------------------------------------------------------------------------------------


def clock(wall: float, monotonic: float) -> Clock:
    return Clock(1_767_225_600.0 + wall, monotonic)


@pytest.mark.parametrize(
    ("second", "nudges"),
    [
        (clock(LOOK_SECONDS, LOOK_SECONDS), 1),
        (
            clock(LOOK_SECONDS + JUMP_SECONDS - 1, LOOK_SECONDS),
            1,
        ),  # within what timers and small clock steps do
        (clock(LOOK_SECONDS + 3600, LOOK_SECONDS), 0),  # the host slept
        (clock(LOOK_SECONDS - 3600, LOOK_SECONDS), 0),  # the clock was set back
        (clock(LOOK_SECONDS, LOOK_SECONDS + 3600), 0),
        (clock(3600, 3600), 1),  # the process was stopped: both clocks saw it
    ],
)
def test_a_jump_between_the_clocks_makes_a_look_that_only_observes(second: Clock, nudges: int) -> None:
    desk = stranded()
    desk.look(clock(0, 0))
    look = desk.look(second)
    assert desk.effects().count("nudged") == nudges
    if not nudges:
        assert "the host slept" in str(look.runs[0].obstacle)
        for later in (LOOK_SECONDS, 2 * LOOK_SECONDS):
            desk.look(Clock(second.wall + later, second.monotonic + later))
        assert desk.effects().count("nudged") == 1


def test_an_observing_look_goes_on_with_nothing_either() -> None:
    desk = restored(transcript=Transcript((SEEN, key("closing", terminal=NEW))), panes=UNKNOWN)
    desk.look(clock(0, 0))
    desk.panes = (BOSS_PANE,)
    desk.look(clock(5000, 15))
    assert desk.effects() == []
    desk.look(clock(5015, 30))
    assert desk.effects() == ["TellLauncher", "resumed"]


# -- towers, nested launchers, Windows, switches -----------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"launcher": replace(LAUNCHER, tower=True)},
        {"launcher": replace(LAUNCHER, nested=True)},
        {"launcher": replace(LAUNCHER, platform="win32")},
        {"settings": replace(SETTINGS, restored=False)},
    ],
    ids=["tower", "nested", "windows", "off"],
)
def test_the_restored_case_is_left_alone_and_the_nudge_is_not(changes: dict[str, Any]) -> None:
    plain = restored(**changes)
    plain.look_times(20)
    assert plain.effects() == []
    own = stranded(**changes)
    own.look_times(2)
    assert own.effects() == ["nudged", "SendIntercom", "Notify"]


def test_a_nudge_that_is_switched_off_lists_no_sessions() -> None:
    desk = stranded(settings=replace(SETTINGS, nudge=False))
    desk.look_times(10)
    assert (desk.effects(), desk.did(ListSessions)) == ([], [])


# -- a run is in at most one machine -----------------------------------------------------------------------------


def test_a_nudged_run_is_not_recovered_when_a_restore_brings_it_back() -> None:
    desk = stranded()
    desk.look_times(2)
    desk.forget()
    desk.panes, desk.processes = (BOSS_PANE, RESTORED), {PANE: (PI,)}
    desk.restart()
    desk.look_times(5)
    assert desk.effects() == []


def test_a_person_who_starts_pi_in_the_same_terminal_is_left_alone() -> None:
    desk = restored(panes=(BOSS_PANE, replace(RESTORED, terminal=OLD)))
    desk.look_times(20)
    assert desk.effects() == []


def test_a_run_tracked_again_between_two_looks_is_not_touched() -> None:
    for desk in (stranded(), restored()):
        desk.look()
        desk.registry = frozenset({RUN})
        [report] = desk.look_times(3).runs
        assert (desk.effects(), report.state, report.obstacle) == ([], "tracked", None)


def test_a_second_pi_is_warned_of_once_and_everything_waits() -> None:
    desk = stranded(panes=(BOSS_PANE, replace(BOSS_PANE, id="w1:p9"), RUNNING))
    desk.look_times(6)
    assert kinds(desk.did(Notify)) == [Notify]
    desk.panes = (BOSS_PANE, RUNNING)
    desk.look_times(2)
    assert "SendIntercom" in desk.effects()


# -- reports -----------------------------------------------------------------------------------------------------


def reported(desk: Desk, looks: int) -> tuple[str, str, bool]:
    [report] = desk.look_times(looks).runs
    assert report.name == "Zeta"
    return report.machine, report.state, report.stranded


def test_a_report_names_the_machine_and_its_state() -> None:
    assert reported(stranded(), 1) == ("nudge", "found once", True)
    assert reported(stranded(), 2) == ("nudge", "sent", False)
    assert reported(stranded(), 3) == ("", "nudged", False) or reported(stranded(), 3)[1] == "sent"
    assert reported(restored(), 1) == ("restored", "found once", True)
    assert reported(restored(), 2)[1] == "resumed"
    assert reported(restored(), 3) == ("", "resumed", False)
    assert reported(stranded(transcript=Transcript((SEEN,), results=frozenset({FILE}))), 1) == (
        "",
        "settled",
        False,
    )


def test_a_child_at_work_in_its_own_terminal_is_never_called_given_up() -> None:
    desk = stranded(
        runs={RUN: replace(WAITING, phase="active")}, panes=(BOSS_PANE, replace(RUNNING, status="working"))
    )
    for _ in range(20):
        [report] = desk.look().runs
        assert (report.machine, report.state) == ("nudge", "watching")
        assert "working" in str(report.obstacle)


def test_a_run_that_leaves_the_folder_is_reported_no_more_and_remembered() -> None:
    desk = stranded()
    desk.look()
    desk.runs = {}
    look = desk.look()
    assert look.runs == ()
    assert RUN in look.memory.runs


# -- for every piece of evidence at every look -------------------------------------------------------------------

PIECES: dict[str, list[Any]] = {
    "registry": [frozenset(), frozenset(), frozenset({RUN}), UNKNOWN],
    "runs": [{RUN: WAITING}, {RUN: replace(WAITING, phase="active")}, {RUN: UNKNOWN}, {}, UNKNOWN],
    "roster": [(BOSS_PEER, PEER), (BOSS_PEER, PEER), (BOSS_PEER,), (), UNKNOWN],
    "panes": [
        (BOSS_PANE, RESTORED),
        (BOSS_PANE, RESTORED),
        (BOSS_PANE, RUNNING),
        (BOSS_PANE, replace(RESTORED, terminal=None)),
        (),
        UNKNOWN,
    ],
    "processes": [{PANE: (PI,)}, {PANE: (PI,)}, {PANE: (PI, PI)}, {PANE: ()}, {}],
    "files": [
        {RUN: FILES},
        {RUN: FILES},
        {RUN: replace(FILES, ended=UNKNOWN)},
        {RUN: replace(FILES, policy=UNKNOWN)},
        {RUN: replace(FILES, worktree=UNKNOWN)},
        {RUN: RunFiles(UNKNOWN)},
        {RUN: RunFiles(None)},
    ],
}
LOOKS = st.lists(
    st.fixed_dictionaries({name: st.sampled_from(values) for name, values in PIECES.items()}),
    min_size=1,
    max_size=10,
)
KEYS = st.lists(
    st.sampled_from([SEEN, key("closing", terminal=NEW), key("unclosed"), key("continued")]), max_size=4
)


@settings(max_examples=200, deadline=None)
@given(looks=LOOKS, keys=KEYS, restarts=st.sets(st.integers(1, 9)))
def test_whatever_is_seen_nothing_breaks_and_every_act_has_its_evidence_and_its_key(
    looks: list[dict[str, Any]], keys: list[KeyEntry], restarts: set[int]
) -> None:
    desk = restored(transcript=Transcript(tuple(keys)))
    for number, seen in enumerate(looks):
        vars(desk).update(seen)
        if number in restarts:
            desk.restart()
        before = len(desk.said)
        known = {*desk.memory.runs} if seen["runs"] is UNKNOWN else set()
        look: Look = desk.look()
        assert {report.run for report in look.runs} == ({RUN} if seen["runs"] not in ({}, UNKNOWN) else known)
        said = Desk(said=desk.said[before:]).effects()
        if "ClosePane" in said:
            assert seen["registry"] == frozenset()
            assert seen["files"] == {RUN: FILES}
            assert seen["processes"] == {PANE: (PI,)}
            assert seen["panes"] == (BOSS_PANE, RESTORED)
            assert said[said.index("ClosePane") - 1] == "closing"
        if "TellLauncher" in said:
            assert seen["registry"] == frozenset()
            assert "closing" in [one.key for one in desk.transcript.keys] or "continued" in said + [
                one.key for one in keys
            ]
    assert desk.effects().count("TellLauncher") <= 1
