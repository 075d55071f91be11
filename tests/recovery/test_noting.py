"""A child that runs as it was started is noted with its terminal, once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from recovery.desk import Desk, stranded
from recovery.given import BOSS_PANE, NEW, OLD, PANE, RESTORED, RUN, RUNNING, SEEN, key

from strawboss.recovery import commands as c
from strawboss.recovery import noting
from strawboss.recovery.commands import Notify, ProcessInfo, WriteKey
from strawboss.recovery.evidence import Transcript
from strawboss.recovery.keys import RunKeys
from strawboss.recovery.memory import Noting


def at_work(**changes: object) -> Desk:
    """A tracked child whose pane runs its script, and of which nothing is noted yet."""
    return stranded(**{"registry": frozenset({RUN}), "transcript": Transcript(), **changes})


@pytest.mark.parametrize("registry", [frozenset({RUN}), frozenset()], ids=["tracked", "untracked"])
def test_a_child_that_runs_its_script_is_noted_once_with_its_terminal(registry: frozenset[str]) -> None:
    desk = at_work(registry=registry)
    desk.look()
    [written] = desk.did(WriteKey)
    assert (written.key, written.run) == ("seen", RUN)
    assert {**written.data, "at": ""} == {"terminal": OLD, "pane": PANE, "at": ""}


def test_a_tracked_child_once_noted_costs_no_call_any_more() -> None:
    desk = at_work()
    desk.look()
    desk.forget()
    desk.look_times(10)
    assert {type(command) for command in desk.said} == {c.ReadRegistry, c.ReadRuns}


def test_a_noted_child_costs_no_list_after_a_session_start_either() -> None:
    desk = at_work(transcript=Transcript((SEEN,)))
    desk.look_times(3)
    assert not desk.did(c.ListPanes)


def test_a_tracked_child_that_never_shows_its_script_is_looked_for_so_many_times() -> None:
    desk = at_work(processes={PANE: ()})
    desk.look_times(20)
    assert len(desk.did(c.ListPanes)) == noting.NOTING_LOOKS


def test_a_pane_without_a_terminal_id_cannot_be_noted() -> None:
    desk = at_work(panes=(BOSS_PANE, replace(RUNNING, terminal=None)))
    desk.look_times(2)
    assert desk.keys() == []


def test_a_handoff_updates_what_was_seen() -> None:
    desk = stranded(panes=(BOSS_PANE, replace(RUNNING, terminal=NEW)))
    desk.look()
    assert [(one.key, one.data["terminal"]) for one in desk.did(WriteKey)] == [("seen", NEW)]


def test_a_note_of_another_pane_is_an_earlier_attempts_and_is_made_again() -> None:
    earlier = key("seen", terminal="elsewhere", pane="w1:p9")
    desk = at_work(transcript=Transcript((earlier,)))
    desk.look()
    assert desk.did(WriteKey)[0].data["pane"] == PANE


@pytest.mark.parametrize(
    "changes",
    [
        {"launcher": replace(Desk().launcher, tower=True)},
        {"launcher": replace(Desk().launcher, nested=True)},
        {"launcher": replace(Desk().launcher, platform="win32")},
        {"settings": replace(Desk().settings, restored=False)},
    ],
    ids=["tower", "nested", "windows", "off"],
)
def test_where_nothing_is_ever_restored_nothing_is_noted(changes: dict[str, object]) -> None:
    desk = at_work(**changes)
    desk.look_times(3)
    assert not desk.did(c.ListPanes)


def test_a_second_pi_on_the_session_stops_the_notes_too() -> None:
    desk = at_work(panes=(BOSS_PANE, replace(BOSS_PANE, id="w1:p9"), RUNNING))
    desk.look_times(3)
    assert (desk.keys(), desk.did(ProcessInfo), len(desk.did(Notify))) == ([], [], 1)
    assert RESTORED.id == PANE


@pytest.mark.parametrize(
    ("keys", "is_noted"),
    [
        (RunKeys(terminal="t", pane=PANE), True),
        (RunKeys(terminal="t"), True),
        (RunKeys(terminal="t", pane="w1:p9"), False),
        (RunKeys(), False),
    ],
)
def test_a_note_counts_for_the_pane_its_launch_script_names(keys: RunKeys, is_noted: bool) -> None:
    assert noting.with_keys(Noting(), keys, PANE).noted is is_noted


def test_a_tracked_run_is_due_until_it_is_noted_or_was_looked_for_so_many_times() -> None:
    assert noting.is_due(Noting(misses=noting.NOTING_LOOKS - 1))
    assert not noting.is_due(Noting(misses=noting.NOTING_LOOKS))
    assert not noting.is_due(Noting(noted=True))
