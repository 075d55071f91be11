"""When a run counts as brought back plain by a herdr restore."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from recovery.desk import restored
from recovery.given import (
    BASH,
    BOSS_PANE,
    BOSS_PEER,
    ENDED,
    FILE,
    FILES,
    LAUNCHER,
    NEW,
    NOTHING_ASKED,
    OLD,
    OTHER_FILE,
    PANE,
    PEER,
    PI,
    RESTORED,
    RUN,
    SEEN,
    SETTINGS,
    UNKNOWN,
    WORKTREE,
    facts,
    key,
    restored_facts,
    with_script,
)

from strawboss.recovery import conditions as shared
from strawboss.recovery.evidence import Policy, Process, RunFiles, Transcript, Worktree
from strawboss.recovery.facts import Facts
from strawboss.recovery.keys import RunKeys
from strawboss.recovery.proof import Stage
from strawboss.recovery.restored import RESTORED as MACHINE
from strawboss.recovery.restored import conditions, machine
from strawboss.recovery.restored.machine import State
from strawboss.recovery.restored.numbers import LAST_MISS
from strawboss.recovery.verdict import Answer, Unknown, first_obstacle

YES, NO, MAYBE = Answer.YES, Answer.NO, Answer.UNKNOWN
GONE = Unknown("its folder is not there", absent=True)


def test_a_plain_idle_pi_in_a_new_terminal_on_its_session_is_restored() -> None:
    assert first_obstacle(restored_facts(), MACHINE.conditions) is None


def panes(**changes: Any) -> dict[str, Any]:
    return {"panes": (BOSS_PANE, replace(RESTORED, **changes))}


def seen(**data: str) -> dict[str, Any]:
    return {"keys": RunKeys(**data)}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "condition", "answer"),
    [
        ({"settings": replace(SETTINGS, restored=False)}, "the restored case is switched on", NO),
        ({"launcher": replace(LAUNCHER, tower=True)}, "the launcher is neither a tower nor a subagent", NO),
        ({"launcher": replace(LAUNCHER, nested=True)}, "the launcher is neither a tower nor a subagent", NO),
        ({"launcher": replace(LAUNCHER, platform="win32")}, "the process list can prove a plain pi", MAYBE),
        ({"tracked": True}, "its launcher no longer tracks it", NO),
        ({"files": RunFiles(None)}, "its launch script names it", NO),
        ({"files": RunFiles(UNKNOWN)}, "its launch script names it", MAYBE),
        ({"transcript": Transcript((SEEN,), results=frozenset({FILE}))}, "it has not reported", NO),
        ({"transcript": Transcript((SEEN,), pings=frozenset({FILE}))}, "it has not reported", NO),
        ({"transcript": Transcript((SEEN,), torn_results=frozenset({""}))}, "it has not reported", MAYBE),
        ({"files": with_script(persistent=True)}, "it is not a persistent specialist", NO),
        ({"files": replace(FILES, policy=UNKNOWN)}, "it is not a persistent specialist", MAYBE),
        ({"transcript": Transcript((SEEN, key("nudged")))}, "nothing was done for it before", NO),
        ({"transcript": Transcript((SEEN, key("resumed")))}, "nothing was done for it before", NO),
        ({"transcript": Transcript((SEEN, key("gaveUp")))}, "nothing was done for it before", NO),
        ({"files": replace(FILES, ended=True)}, "it never ended", NO),
        ({"files": replace(FILES, ended=UNKNOWN)}, "it never ended", MAYBE),
        ({"files": replace(FILES, ended=GONE)}, "the folder of its session is there", MAYBE),
        ({"files": replace(FILES, worktree=UNKNOWN)}, "its worktree still stands", MAYBE),
        ({"files": replace(FILES, worktree=Worktree("removed"))}, "its worktree still stands", NO),
        ({"files": replace(FILES, worktree=Worktree("cancelled"))}, "its worktree still stands", NO),
        ({"panes": UNKNOWN}, "herdr lists its panes", MAYBE),
        (
            {"panes": (BOSS_PANE, replace(BOSS_PANE, id="w1:p9"), RESTORED)},
            "no second pi is on the launcher's session",
            MAYBE,
        ),
        (seen(), "it was seen running its launch script", MAYBE),
        ({"panes": (BOSS_PANE,)}, "the pane it ran in is there", NO),
        (panes(id="w1:p9"), "the pane it ran in is there", NO),
        (panes(session=None), "that pane is on its session file", MAYBE),
        (panes(session=OTHER_FILE), "that pane is on its session file", NO),
        ({"panes": (RESTORED, replace(RESTORED, id="w1:p9"))}, "that pane is on its session file", MAYBE),
        (panes(agent=None), "herdr says an idle pi is in it", NO),
        (panes(agent="claude"), "herdr says an idle pi is in it", NO),
        (panes(status="working"), "herdr says an idle pi is in it", NO),
        (panes(status="blocked"), "herdr says an idle pi is in it", NO),
        (panes(terminal=None), "a restore happened", MAYBE),
        (panes(terminal=OLD), "a restore happened", NO),
        (seen(terminal=OLD, pane="w1:p9"), "a restore happened", MAYBE),
        ({"processes": UNKNOWN}, "only a plain pi runs there", MAYBE),
        ({"processes": ()}, "only a plain pi runs there", NO),
        ({"processes": (PI, PI)}, "only a plain pi runs there", NO),
        ({"processes": (BASH, PI)}, "only a plain pi runs there", NO),
        ({"processes": (Process(1, "node", None, ("node", "pi")),)}, "only a plain pi runs there", NO),
        ({"processes": (PI, Process(2, "sh"))}, "only a plain pi runs there", MAYBE),
    ],
)
def test_each_condition_alone_stands_in_the_way(
    change: dict[str, Any], condition: str, answer: Answer
) -> None:
    obstacle = first_obstacle(restored_facts(**change), MACHINE.conditions)
    assert obstacle is not None
    assert (obstacle.condition, obstacle.answer) == (condition, answer)


@pytest.mark.parametrize(
    "change",
    [
        panes(status="done"),
        seen(terminal=OLD),  # a key that names no pane
        {"files": replace(FILES, policy=None)},
        {"files": replace(FILES, worktree=WORKTREE)},
        {"files": replace(FILES, policy=Policy("workflow", persistent=False))},
        {"launcher": replace(LAUNCHER, platform="darwin")},
        {"processes": (PI, Process(2, "sh", None, ("sh", "-c", "sleep 1")))},
        {"processes": (Process(20, "node", "pi"),)},  # macOS: argv0 tells
        {"transcript": Transcript((SEEN, key("closing"), key("unclosed")))},
    ],
)
def test_what_does_not_stand_in_the_way(change: dict[str, Any]) -> None:
    assert first_obstacle(restored_facts(**change), MACHINE.conditions) is None


def test_any_resume_script_in_the_pane_is_somebody_elses_run() -> None:
    resume = Process(2, "bash", None, ("bash", "/x/subagent-scripts/zeta-resume-1767225600000.sh"))
    assert conditions.pane_is_plain(restored_facts(processes=(PI, resume))).answer is NO


@pytest.mark.parametrize("condition", MACHINE.conditions)
def test_a_look_that_has_asked_nothing_yet_says_neither_yes_nor_no_to_what_it_did_not_ask(
    condition: Any,
) -> None:
    files = RunFiles(UNKNOWN, ended=UNKNOWN, policy=UNKNOWN)
    asked_nothing = Facts(LAUNCHER, SETTINGS, RUN, False, UNKNOWN, files, Transcript())
    known = (
        conditions.is_on,
        conditions.launcher_may,
        conditions.platform_can_prove,
        shared.is_untracked,
        shared.has_not_been_acted_on,
        conditions.has_something_left,  # it has no manifest
        shared.is_a_new_stranding,  # it has no pane yet
    )
    assert condition(asked_nothing).answer is (YES if condition in known else MAYBE)


def test_a_pane_whose_session_folder_is_gone_is_waited_for_however_long_it_takes() -> None:
    desk = restored(files={RUN: replace(FILES, ended=GONE)})
    desk.look_times(2 * LAST_MISS)
    assert desk.effects() == []
    desk.files = {RUN: FILES}
    desk.look_times(2)
    assert "ClosePane" in desk.effects()


def test_a_run_is_not_given_up_on_while_the_broker_cannot_be_asked() -> None:
    desk = restored(roster=UNKNOWN)
    desk.look_times(2 * LAST_MISS)
    assert desk.effects() == []
    desk.roster = (BOSS_PEER, PEER)
    desk.look_times(2)
    assert "ClosePane" in desk.effects()


@pytest.mark.parametrize("condition", MACHINE.conditions)
def test_where_the_files_say_who_it_is_all_else_is_unknown_until_it_is_asked(condition: Any) -> None:
    known = (
        *conditions.BY_FILES,
        conditions.was_seen_running,
        conditions.session_folder_is_there,
        shared.is_a_new_stranding,
    )
    assert condition(restored_facts(**NOTHING_ASKED)).answer is (YES if condition in known else MAYBE)


def test_every_condition_has_a_name_of_its_own() -> None:
    names = [condition(restored_facts()).condition for condition in MACHINE.conditions]
    assert len(set(names)) == len(names)
    assert {one.sentence for one in conditions.NOT_COUNTED} <= set(names)


# -- worktree runs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({}, "restored"),
        ({"files": replace(FILES, policy=None)}, "restored"),
        ({"files": replace(FILES, worktree=WORKTREE)}, "worktree"),
        ({"files": replace(FILES, worktree=UNKNOWN)}, "worktree"),
        ({"files": replace(FILES, policy=Policy("managed-worktree", persistent=False))}, "worktree"),
        ({"files": replace(FILES, policy=Policy("workflow", persistent=False))}, "worktree"),
        ({"files": replace(FILES, policy=Policy("", persistent=False))}, "worktree"),
        ({"files": replace(FILES, policy=UNKNOWN)}, "restored"),
        ({"transcript": Transcript((SEEN,), worktrees=frozenset({RUN}))}, "worktree"),
        ({"transcript": Transcript((SEEN,), worktrees=frozenset({"another"}))}, "restored"),
    ],
)
def test_manifest_owner_or_launch_record_make_a_worktree_run(change: dict[str, Any], kind: str) -> None:
    assert conditions.called(restored_facts(**change)) == kind


# -- what the keys say after a crash -----------------------------------------------------------------------------

OUTLIVED: dict[str, str] = {
    "resumed": State.RESUMED,
    "gaveUp": State.GAVE_UP,
    "closing": State.CLOSING,
    "continued": State.CONTINUED,
    "seen": Stage.WATCHING,
    "unclosed": Stage.WATCHING,
    "lost": Stage.WATCHING,
    "nudged": Stage.WATCHING,
}


@pytest.mark.parametrize(("name", "state"), OUTLIVED.items())
def test_a_new_process_starts_where_the_keys_say(name: str, state: str) -> None:
    assert machine.stands(facts(key(name)).keys, Stage.WATCHING) == state


@pytest.mark.parametrize("watched", sorted(machine.UNDER_WAY | machine.ENDED))
def test_a_closing_key_never_throws_back_what_this_process_knows_better(watched: str) -> None:
    assert machine.stands(facts(key("closing")).keys, watched) == watched


@pytest.mark.parametrize(
    ("listed", "closing", "gone"),
    [
        ((), {"terminal": NEW}, True),
        ((BOSS_PANE,), {"terminal": NEW}, True),
        ((RESTORED,), {"terminal": NEW}, False),
        ((replace(RESTORED, terminal="newer"),), {"terminal": NEW}, False),  # restored once more
        ((replace(RESTORED, terminal="newer", session=None, agent=None),), {"terminal": NEW}, True),
        ((replace(RESTORED, session=None, agent=None),), {"terminal": NEW}, False),
        ((replace(RESTORED, terminal=None, session=None),), {"terminal": NEW}, False),
        ((replace(RESTORED, terminal="newer", session=None),), {}, False),
        ((replace(RESTORED, id="w1:p9"),), {"terminal": NEW}, False),  # its session is open elsewhere
    ],
)
def test_a_pane_is_gone_when_nothing_is_on_the_session_and_its_id_is_free_or_anothers(
    listed: Any, closing: dict[str, str], gone: bool
) -> None:
    assert conditions.terminal_is_gone(facts(panes=listed), closing.get("terminal")) is gone


def test_only_a_session_file_that_can_be_read_can_be_resumed() -> None:
    assert conditions.can_be_resumed(restored_facts(tail=ENDED)).answer is YES
    assert conditions.can_be_resumed(restored_facts(tail=UNKNOWN)).answer is MAYBE


def test_the_pane_is_the_one_the_script_names() -> None:
    assert restored_facts().launch_pane == RESTORED
    assert restored_facts(files=with_script(surface="w1:p9")).launch_pane is None
    assert restored_facts(files=RunFiles(None)).launch_pane is None
    assert RESTORED.id == PANE
