"""What the last look saw is there to explain a run from, whether a tape is written or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from recovery.desk import Desk, restored
from recovery.given import RUN

from strawboss.recovery.look import look_at_runs
from strawboss.recovery.verdict import Answer
from strawboss.tape.seen import Seen


@pytest.fixture
def seen() -> Iterator[Seen]:
    made = Seen()

    def listening(*given: Any) -> Any:
        return made.listen(look_at_runs(*given))

    with mock.patch("recovery.desk.look_at_runs", listening):
        yield made


def answers(seen: Seen, desk: Desk) -> dict[str, Answer]:
    explanation = seen.explain(desk.launcher, desk.settings, RUN)
    return {one.of: one.answer for _, verdicts in explanation for one in verdicts}


def test_a_look_that_acted_is_explained_by_what_it_found(seen: Seen) -> None:
    desk = restored()
    desk.look_times(2)
    said = answers(seen, desk)
    assert said["recovery.has_not_been_acted_on"] is Answer.YES
    assert said["restored.pane_is_plain"] is Answer.YES


def test_what_later_looks_do_not_ask_again_is_known_of_files_and_unknown_of_panes(seen: Seen) -> None:
    desk = restored()
    desk.look_times(5)
    said = answers(seen, desk)
    assert said["recovery.has_launch_script"] is Answer.YES
    assert said["recovery.panes_are_listed"] is Answer.UNKNOWN


def test_before_the_first_look_nothing_is_known(seen: Seen) -> None:
    assert answers(seen, restored())["recovery.has_launch_script"] is Answer.UNKNOWN
