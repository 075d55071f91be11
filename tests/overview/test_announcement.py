"""What is said after a start of herdr, and by what it is told that there is more to wait for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from overview.test_judge import BACK, NOW, RESUMED, STRANDED, TRACKED, seen
from recovery.given import FILE, LAUNCHER, RUN, key

from strawboss.overview.announcement import Situation, news, situation
from strawboss.overview.judge import view
from strawboss.overview.seen import Seen, Watch
from strawboss.recovery.verdict import Unknown
from strawboss.recovery.wording import iso

QUIET = Situation(frozenset(), frozenset(), frozenset(), is_pending=False)
THREE = frozenset({("boss", "a", 1.0), ("boss", "b", 2.0), ("other", "a", 3.0)})


def of(found: Seen, *in_panes: str) -> Situation:
    return situation([view(found, NOW)], in_panes)


@pytest.mark.parametrize(
    ("recovered", "needs", "said", "text"),
    [
        (0, 0, 0, ""),
        (1, 0, 0, "1 run recovered"),
        (3, 0, 0, "3 runs recovered"),
        (0, 1, 0, "1 needs you"),
        (0, 2, 0, "2 need you"),
        (3, 1, 0, "3 runs recovered, 1 needs you"),
        (0, 2, 1, "2 need you"),
        (0, 2, 2, ""),
        (1, 2, 2, "1 run recovered, 2 need you"),
    ],
)
def test_it_counts_what_was_recovered_since_and_all_that_needs_somebody_once_there_is_news(
    recovered: int, needs: int, said: int, text: str
) -> None:
    wanting = [("boss", str(number)) for number in range(needs)]
    last = replace(QUIET, recovered=frozenset(sorted(THREE)[:recovered]), needs=frozenset(wanting))
    assert news(QUIET, last, set(wanting[:said])) == text


def test_what_had_been_recovered_before_herdr_started_is_no_news_but_the_same_run_again_is() -> None:
    before = replace(QUIET, recovered=THREE)
    assert news(before, before, ()) == ""
    assert news(before, replace(before, recovered=THREE | {("boss", "a", 9.0)}), ()) == "1 run recovered"


def test_recoveries_are_known_by_when_they_were_and_needs_by_their_run() -> None:
    done = seen(Watch.LOOKING, RESUMED, keys=(key("resumed", at=iso(NOW - 5)),))
    assert of(done).recovered == {(LAUNCHER.id, RUN, NOW - 5)}
    assert of(seen(Watch.CLOSED, TRACKED)).needs == {(LAUNCHER.id, RUN)}
    assert of(seen(Watch.HUNG, TRACKED)).needs == {(LAUNCHER.id, "")}


@pytest.mark.parametrize("watch", [Watch.LOOKING, Watch.HUNG, Watch.STOPPED])
def test_only_a_run_that_is_being_recovered_is_waited_for_where_pi_and_its_process_have_started(
    watch: Watch,
) -> None:
    file = LAUNCHER.file
    assert of(seen(watch, STRANDED), file).is_pending
    assert not of(seen(watch, TRACKED), file).is_pending


@pytest.mark.parametrize("watch", [Watch.CLOSED, Watch.UNSEEN])
def test_a_launcher_with_a_pane_is_waited_for_and_one_without_is_gone(watch: Watch) -> None:
    assert of(seen(watch, TRACKED), FILE, LAUNCHER.file).is_pending
    assert not of(seen(watch, TRACKED), FILE).is_pending


def test_while_herdr_does_not_tell_its_panes_nobody_knows_who_comes_back() -> None:
    views = [view(seen(Watch.CLOSED, TRACKED), NOW)]
    assert situation(views, Unknown("no answer")).is_pending


def test_a_later_look_that_saw_nothing_new_is_the_same_situation() -> None:
    assert of(seen(Watch.LOOKING, TRACKED)) == of(seen(Watch.LOOKING, TRACKED, looked_at=NOW))
    assert of(seen(Watch.LOOKING, TRACKED)) != of(seen(Watch.UNSEEN, TRACKED, bring_back=BACK))
