"""What an earlier look or process began goes its own road, once its conditions allow."""

from __future__ import annotations

import pytest
from recovery.desk import restored
from recovery.given import BOSS_PANE, NEW, RUN, SEEN, UNKNOWN, key

from strawboss.recovery.commands import ListPanes, ListSessions
from strawboss.recovery.evidence import RunFiles, Transcript
from strawboss.recovery.restored import machine
from strawboss.recovery.restored.go_on import ROADS

CLOSING = Transcript((SEEN, key("closing", terminal=NEW)))


def test_every_state_under_way_has_a_road_but_what_waits_for_the_message_or_is_the_lost_cases() -> None:
    assert set(ROADS) == machine.UNDER_WAY - {machine.State.TO_TELL, machine.State.CLAIMED}


def test_a_closing_without_a_seen_key_is_still_finished() -> None:
    desk = restored(transcript=Transcript((key("closing"),)), panes=(BOSS_PANE,))
    desk.look()
    assert desk.effects() == ["TellLauncher", "resumed"]


@pytest.mark.parametrize("script", [None, UNKNOWN])
def test_without_its_launch_script_nothing_goes_on(script: object) -> None:
    desk = restored(transcript=CLOSING, panes=(BOSS_PANE,), files={RUN: RunFiles(script)})  # type: ignore[arg-type]
    desk.look_times(10)
    assert desk.effects() == []


def test_a_closing_is_left_open_while_herdr_is_away() -> None:
    desk = restored(transcript=CLOSING, panes=UNKNOWN)
    look = desk.look_times(3)
    assert desk.effects() == []
    assert (look.runs[0].state, look.runs[0].stranded) == ("closing", True)


def test_what_is_under_way_costs_one_list_a_look() -> None:
    desk = restored(takes_messages=False, session=UNKNOWN)
    desk.look_times(2)
    desk.forget()
    desk.look_times(5)
    assert len(desk.did(ListPanes)) == 5
    assert desk.did(ListSessions) == []
