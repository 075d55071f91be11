"""A run is found on the tape that has it, and seen as a look saw it: before it did anything, then and now."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from recovery.desk import restored, stranded
from recovery.given import LAUNCHER, RUN, now
from tape.taping import Taped

from strawboss.recovery.verdict import Answer
from strawboss.tape.find import Seen, knowing, see
from strawboss.tape.last import last_looks


@pytest.fixture
def taped(tmp_path: Path) -> Taped:
    return Taped(tmp_path / "tapes", restored())


def answers(seen: Seen | None) -> dict[str, Answer]:
    assert seen is not None
    return {one.of: one.answer for _, verdicts in seen.conditions for one in verdicts}


def test_a_look_that_rescued_a_run_shows_what_it_found_and_not_what_it_made_of_it(taped: Taped) -> None:
    taped.looks(2)
    seen = see(taped.session, RUN)
    assert seen is not None
    assert seen.report.state == "resumed"
    assert answers(seen)["recovery.has_not_been_acted_on"] is Answer.YES
    assert answers(seen)["restored.pane_is_plain"] is Answer.YES
    taped.look()
    assert answers(see(taped.session, RUN))["recovery.has_not_been_acted_on"] is Answer.NO


def test_what_the_look_did_not_ask_is_unknown_and_not_what_an_older_one_saw(taped: Taped) -> None:
    taped.looks(4)
    seen = see(taped.session, RUN)
    assert answers(seen)["recovery.panes_are_listed"] is Answer.UNKNOWN


def test_an_earlier_look_is_as_it_was(taped: Taped) -> None:
    taped.looks(2)
    taped.restart()
    taped.looks(3)
    first = see(taped.session, RUN, now(1).wall)
    assert first is not None
    assert (first.look.clock, first.report.state) == (now(1), "found once")
    second = see(taped.session, RUN, now(3).wall - 1)
    assert second is not None
    assert second.look.clock == now(2)
    assert see(taped.session, RUN, now(1).wall - 1) is None


def test_a_run_that_nobody_reported_is_not_seen(taped: Taped) -> None:
    taped.look()
    assert see(taped.session, "nobody") is None


def test_the_launchers_of_a_run_are_those_whose_last_look_had_it(taped: Taped, tmp_path: Path) -> None:
    taped.look()
    other = Taped(tmp_path / "tapes", stranded(launcher=replace(LAUNCHER, id="other")))
    other.session_name = "other"
    other.restart()
    other.look()
    launchers = list(last_looks(taped.shelf))
    assert [one.launcher.id for one in knowing(RUN, launchers)] == ["boss", "other"]
    assert knowing("nobody", launchers) == []
