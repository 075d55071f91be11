"""Giving up: at the last miss, silently, but for lost runs and closes that were taken back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from recovery.desk import Desk, restored
from recovery.given import (
    BOSS_PANE,
    BOSS_PEER,
    FILE,
    NEW,
    OLD,
    PANE,
    PEER,
    PI,
    RESTORED,
    RUN,
    SEEN,
    UNKNOWN,
    key,
)

from strawboss.recovery.commands import ListPanes, ProcessInfo
from strawboss.recovery.evidence import Process, Transcript
from strawboss.recovery.restored.numbers import LAST_MISS

GONE: dict[str, Any] = {"panes": (BOSS_PANE,), "roster": (BOSS_PEER,)}
SHELL: dict[str, Any] = {
    "roster": (BOSS_PEER,),
    "panes": (BOSS_PANE, replace(RESTORED, agent=None, session=None)),
    "processes": {PANE: (Process(18, "bash", None, ("-bash",)),)},
}


def state(desk: Desk) -> str:
    return desk.memory.runs[RUN].proof("restored").state


def test_a_run_without_a_restored_pane_is_given_up_at_the_last_miss_until_a_session_start() -> None:
    desk = restored(transcript=Transcript())
    desk.look_times(LAST_MISS - 1)
    assert state(desk) == "watching"
    desk.look()
    assert state(desk) == "given up"
    desk.transcript = Transcript((SEEN,))
    desk.look_times(10)
    assert desk.effects() == []
    desk.restart()
    desk.look_times(2)
    assert desk.effects() == ["closing", "ClosePane", "TellLauncher", "resumed"]


def test_a_run_given_up_costs_no_list_and_no_process_look_any_more() -> None:
    desk = restored(transcript=Transcript())
    desk.look_times(20)
    assert len(desk.did(ListPanes)) == LAST_MISS
    assert len(desk.did(ProcessInfo)) == LAST_MISS


@pytest.mark.parametrize("change", [{"panes": UNKNOWN}], ids=["herdr away"])
def test_looks_that_saw_nothing_are_no_misses(change: dict[str, Any]) -> None:
    desk = restored(**change)
    desk.look_times(30)
    desk.panes = (BOSS_PANE, RESTORED)
    desk.look_times(2)
    assert "ClosePane" in desk.effects()


@pytest.mark.parametrize(
    "change", [GONE, SHELL, {"processes": {}, "roster": (BOSS_PEER,)}], ids=["gone", "shell", "no process"]
)
def test_a_run_that_was_seen_and_has_no_pane_to_act_on_is_lost_with_one_warning(
    change: dict[str, Any],
) -> None:
    desk = restored(**change)
    desk.look_times(20)
    assert desk.effects() == ["lost", "Notify"]
    assert FILE in desk.warnings()[0]
    desk.restart()
    desk.look_times(20)
    assert len(desk.warnings()) == 1


@pytest.mark.parametrize(
    "change",
    [
        {**GONE, "transcript": Transcript()},
        {"panes": (BOSS_PANE, replace(RESTORED, status="working"))},
        {"panes": (BOSS_PANE, replace(RESTORED, terminal=OLD))},
        {"panes": (BOSS_PANE, replace(RESTORED, session=None))},
    ],
    ids=["never seen", "somebody works there", "a person's pi", "no session told"],
)
def test_every_other_give_up_is_silent(change: dict[str, Any]) -> None:
    desk = restored(**change)
    desk.look_times(20)
    assert desk.effects() == []
    assert state(desk) == "given up"


def test_a_lost_run_that_comes_back_is_recovered_after_the_next_session_start() -> None:
    desk = restored(**GONE)
    desk.look_times(LAST_MISS + 2)
    desk.panes = (BOSS_PANE, replace(RESTORED, terminal="newer"))
    desk.roster = (BOSS_PEER, PEER)
    desk.restart()
    desk.look_times(2)
    assert desk.effects()[2:] == ["closing", "ClosePane", "TellLauncher", "resumed"]


def test_without_its_key_nothing_is_called_lost_and_the_next_look_tries_again() -> None:
    desk = restored(**GONE, broken_keys=frozenset({"lost"}))
    desk.look_times(LAST_MISS + 4)
    assert desk.keys() == ["lost"] * 3
    assert len(desk.warnings()) == 1
    assert "could not confirm its lost key" in desk.warnings()[0]
    desk.broken_keys = frozenset()
    desk.look_times(5)
    assert ["did not come back" in text for text in desk.warnings()[1:]] == [True]


def test_a_tracked_run_is_never_lost() -> None:
    desk = restored(**GONE, registry=frozenset({RUN}))
    desk.look_times(20)
    assert desk.effects() == []


def test_a_close_taken_back_is_warned_of_and_not_called_lost_beside_it() -> None:
    taken_back = Transcript((SEEN, key("closing", terminal=NEW), key("unclosed")))
    desk = restored(**GONE, transcript=taken_back)
    desk.look_times(20)
    assert desk.effects() == ["Notify"]
    assert "took that back" in desk.warnings()[0]


def test_a_pane_that_always_holds_two_pi_is_told_of_once_with_what_to_change() -> None:
    desk = restored(processes={PANE: (PI, PI)})
    desk.look_times(20)
    assert desk.effects() == ["Notify"]
    assert "strawboss doctor" in desk.warnings()[0]
