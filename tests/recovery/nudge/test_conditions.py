"""When a finished child is asked for its report."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from recovery.given import (
    BOSS_PANE,
    BOSS_PEER,
    FILE,
    LAUNCHER,
    NOTHING_ASKED,
    PEER,
    RUNNING,
    SETTINGS,
    UNKNOWN,
    WAITING,
    facts,
    key,
    with_script,
)

from strawboss.recovery import conditions as shared
from strawboss.recovery.evidence import RunFiles, Transcript
from strawboss.recovery.facts import Facts
from strawboss.recovery.keys import RunKeys
from strawboss.recovery.nudge import NUDGE, conditions, machine
from strawboss.recovery.nudge.machine import State
from strawboss.recovery.proof import Stage
from strawboss.recovery.verdict import Answer, first_obstacle

YES, NO, MAYBE = Answer.YES, Answer.NO, Answer.UNKNOWN


def test_a_finished_child_in_its_own_pane_is_stranded() -> None:
    assert first_obstacle(facts(), NUDGE.conditions) is None


@pytest.mark.parametrize(
    ("change", "condition", "answer"),
    [
        ({"settings": replace(SETTINGS, nudge=False)}, "the nudge is switched on", NO),
        ({"tracked": True}, "its launcher no longer tracks it", NO),
        ({"files": RunFiles(None)}, "its launch script names it", NO),
        ({"files": RunFiles(UNKNOWN)}, "its launch script names it", MAYBE),
        ({"transcript": Transcript(results=frozenset({FILE}))}, "it has not reported", NO),
        ({"transcript": Transcript(torn_results=frozenset({""}))}, "it has not reported", MAYBE),
        ({"files": with_script(persistent=True)}, "it is not a persistent specialist", NO),
        ({"transcript": Transcript((key("nudged"),))}, "nothing was done for it before", NO),
        ({"transcript": Transcript((key("closing"),))}, "its pane is not being closed", NO),
        ({"activity": UNKNOWN}, "it has finished", MAYBE),
        ({"activity": replace(WAITING, phase="active")}, "it has finished", NO),
        ({"activity": replace(WAITING, phase="starting")}, "it has finished", NO),
        ({"activity": replace(WAITING, phase="done")}, "it has finished", NO),
        ({"activity": replace(WAITING, latest_event="input")}, "it has finished", NO),
        ({"roster": UNKNOWN}, "the launcher is on pi-intercom", MAYBE),
        ({"roster": (PEER,)}, "the launcher is on pi-intercom", MAYBE),
        ({"panes": UNKNOWN}, "herdr lists its panes", MAYBE),
        (
            {"panes": (BOSS_PANE, replace(BOSS_PANE, id="w1:p9"), RUNNING)},
            "no second pi is on the launcher's session",
            MAYBE,
        ),
        ({"panes": (BOSS_PANE,)}, "its pane is found", NO),
        ({"panes": (replace(RUNNING, session=None),)}, "its pane is found", NO),
        ({"panes": (RUNNING, replace(RUNNING, id="w1:p9"))}, "its pane is found", MAYBE),
        ({"panes": (replace(RUNNING, agent=None),)}, "herdr says its pi is idle", NO),
        ({"panes": (replace(RUNNING, agent="claude"),)}, "herdr says its pi is idle", NO),
        ({"panes": (replace(RUNNING, status="working"),)}, "herdr says its pi is idle", NO),
        ({"panes": (replace(RUNNING, status="blocked"),)}, "herdr says its pi is idle", NO),
        ({"panes": (replace(RUNNING, status="unknown"),)}, "herdr says its pi is idle", NO),
        ({"processes": ()}, "its pane runs its launch script", NO),
        ({"processes": UNKNOWN}, "its pane runs its launch script", MAYBE),
        ({"handed_over": True}, "its terminal is the one noted", NO),
        ({"roster": (BOSS_PEER,)}, "pi-intercom has a session in its pane", NO),
        (
            {"roster": (BOSS_PEER, replace(PEER, status="thinking"))},
            "pi-intercom says that session is idle",
            NO,
        ),
        (
            {"roster": (BOSS_PEER, replace(PEER, status="tool:bash"))},
            "pi-intercom says that session is idle",
            NO,
        ),
    ],
)
def test_each_condition_alone_stands_in_the_way(
    change: dict[str, Any], condition: str, answer: Answer
) -> None:
    obstacle = first_obstacle(facts(**change), NUDGE.conditions)
    assert obstacle is not None
    assert (obstacle.condition, obstacle.answer) == (condition, answer)


@pytest.mark.parametrize("status", ["idle", "done"])
def test_idle_and_done_differ_only_in_whether_somebody_has_looked(status: str) -> None:
    assert first_obstacle(facts(panes=(replace(RUNNING, status=status),)), NUDGE.conditions) is None


def test_the_launcher_is_found_in_the_roster_by_pid_too() -> None:
    renamed = replace(BOSS_PEER, id="another")
    assert shared.launcher_is_reachable(facts(roster=(renamed, PEER))).answer is YES
    nobody = facts(launcher=replace(LAUNCHER, pid=None), roster=(renamed, PEER))
    assert shared.launcher_is_reachable(nobody).answer is MAYBE


@pytest.mark.parametrize("condition", NUDGE.conditions)
def test_a_look_that_has_asked_nothing_yet_says_neither_yes_nor_no_to_what_it_did_not_ask(
    condition: Any,
) -> None:
    asked_nothing = Facts(LAUNCHER, SETTINGS, "a1b2c3d4", False, UNKNOWN, RunFiles(UNKNOWN), Transcript())
    known = (
        conditions.is_on,
        shared.is_untracked,
        shared.has_not_been_acted_on,
        shared.is_a_new_stranding,  # it has no pane yet
        conditions.has_no_closing,
    )
    assert condition(asked_nothing).answer is (YES if condition in known else MAYBE)


@pytest.mark.parametrize("condition", NUDGE.conditions)
def test_where_the_files_say_who_it_is_all_else_is_unknown_until_it_is_asked(condition: Any) -> None:
    known = condition in (*conditions.BY_FILES, conditions.is_a_new_stranding)
    assert condition(facts(**NOTHING_ASKED)).answer is (YES if known else MAYBE)


def test_every_condition_has_a_name_of_its_own() -> None:
    names = [condition(facts()).condition for condition in NUDGE.conditions]
    assert len(set(names)) == len(names)
    assert {one.sentence for one in conditions.COUNTED} <= set(names)


@pytest.mark.parametrize("watched", [*Stage, *State])
def test_a_nudged_key_outlives_every_process(watched: str) -> None:
    state = machine.stands(RunKeys(nudged=True), watched)
    assert state == (watched if watched in machine.ENDED else State.NUDGED)


@pytest.mark.parametrize("watched", [*Stage, *State])
def test_a_nudged_key_that_was_taken_back_leaves_nothing(watched: str) -> None:
    assert machine.stands(RunKeys(), watched) == (Stage.WATCHING if watched == State.NUDGED else watched)
