"""What a launcher as it was found means for a person."""

from __future__ import annotations

from dataclasses import replace

import pytest
from recovery.given import FILE, LAUNCHER, RUN, SECONDS, key

from strawboss.overview.judge import DAY_SECONDS, RELOAD, WEEK_SECONDS, duration, needs_of, view
from strawboss.overview.seen import Reports, Seen, Watch
from strawboss.recovery.evidence import KeyEntry, Resume, Transcript
from strawboss.recovery.memory import RunReport
from strawboss.recovery.restored.conditions import has_never_ended, has_something_left
from strawboss.recovery.verdict import Named, Unknown
from strawboss.recovery.wording import iso

NOW = SECONDS + 1000
BACK = "cd /w && pi --session boss"
SETTLED = Named("x", "it has not reported").no("reported")
TRACKED = RunReport(RUN, "Zeta", "", "tracked", None, stranded=False)
REPORTED = replace(TRACKED, state="settled", obstacle=SETTLED)
ENDED = replace(TRACKED, state="settled", obstacle=has_never_ended.no("ended"))
STRANDED = replace(TRACKED, machine="restored", state="found once", stranded=True)
RESUMED = replace(TRACKED, state="resumed", obstacle=SETTLED)


def seen(watch: Watch, *runs: RunReport, keys: tuple[KeyEntry, ...] = (), **changes: object) -> Seen:
    given = Seen(LAUNCHER, watch, Reports.of(runs), NOW - 3, Transcript(keys=keys), {RUN: FILE}, BACK)
    return replace(given, **changes)


def needs(found: Seen) -> list[tuple[str, str]]:
    return [(need.run, need.command) for need in view(found, NOW).needs]


def failed(name: str, seconds_ago: float = 60) -> KeyEntry:
    return key(name, at=iso(NOW - seconds_ago))


# -- what needs a person ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("run", [TRACKED, STRANDED, ENDED])
def test_a_run_that_has_not_reported_to_a_closed_launcher_needs_that_launcher_back(run: RunReport) -> None:
    assert needs(seen(Watch.CLOSED, run)) == [(RUN, BACK)]


@pytest.mark.parametrize("run", [REPORTED, RESUMED, replace(TRACKED, state="nudged")])
def test_a_run_of_a_closed_launcher_that_has_reported_or_was_seen_to_needs_nobody(run: RunReport) -> None:
    assert needs(seen(Watch.CLOSED, run)) == []


@pytest.mark.parametrize("watch", [Watch.LOOKING, Watch.UNSEEN])
@pytest.mark.parametrize("run", [TRACKED, STRANDED, ENDED, REPORTED])
def test_while_somebody_looks_or_is_about_to_a_run_needs_nobody(watch: Watch, run: RunReport) -> None:
    assert needs(seen(watch, run)) == []


def test_a_process_that_hangs_needs_somebody_whatever_its_runs_do() -> None:
    assert needs(seen(Watch.HUNG, REPORTED)) == [("", RELOAD)]


def test_a_pi_without_its_process_needs_somebody_while_a_run_has_not_reported() -> None:
    assert needs(seen(Watch.STOPPED, TRACKED)) == [("", RELOAD)]
    assert needs(seen(Watch.STOPPED, REPORTED)) == []


@pytest.mark.parametrize("name", ["gaveUp", "lost"])
def test_a_run_that_was_given_up_or_lost_is_to_be_resumed_by_hand(name: str) -> None:
    (need,) = view(seen(Watch.LOOKING, TRACKED, keys=(failed(name),)), NOW).needs
    assert need.command == f'subagent_resume {{"sessionPath": "{FILE}"}}'


@pytest.mark.parametrize("name", ["gaveUp", "lost"])
def test_its_closed_launcher_is_to_be_brought_back_first_and_is_told_of_once(name: str) -> None:
    assert needs(seen(Watch.CLOSED, TRACKED, keys=(failed(name),))) == [(RUN, BACK)]


@pytest.mark.parametrize(
    "since",
    [
        {"results": frozenset({FILE})},
        {"pings": frozenset({FILE})},
        {"resumes": (Resume("new", FILE, "s", 9),)},
    ],
)
def test_what_has_reported_or_was_resumed_since_needs_nobody(since: dict[str, object]) -> None:
    transcript = replace(Transcript(keys=(failed("gaveUp"),)), **since)
    assert needs(seen(Watch.LOOKING, RESUMED, transcript=transcript)) == []


def warned(**noted: str) -> KeyEntry:
    return key("warned", at=iso(NOW - 60), pane="w1:p3", **noted)


def test_what_is_stranded_again_says_what_to_do_first_and_what_then() -> None:
    (need,) = view(seen(Watch.LOOKING, TRACKED, keys=(warned(then="resume"),)), NOW).needs
    assert need.what == "is stranded again and left to you: close its pane w1:p3, and"
    assert need.command == f'subagent_resume {{"sessionPath": "{FILE}"}}'


def test_where_nothing_is_to_be_resumed_its_pane_is_all_there_is_to_say() -> None:
    keys = (failed("continued", 200), failed("resumed", 199), warned())
    (need,) = view(seen(Watch.LOOKING, TRACKED, keys=keys), NOW).needs
    assert (need.what, need.command) == (
        "is stranded again and left to you: go on with it in its pane w1:p3",
        "",
    )
    assert needs(seen(Watch.CLOSED, TRACKED, keys=keys)) == [(RUN, BACK)]


@pytest.mark.parametrize("name", ["nudged", "resumed", "continued"])
def test_what_was_recovered_after_a_warning_needs_nobody(name: str) -> None:
    assert needs(seen(Watch.LOOKING, RESUMED, keys=(warned(), failed(name, 30)))) == []


def test_a_worktree_that_was_removed_needs_nobody_one_that_cannot_be_told_does() -> None:
    gone = replace(TRACKED, obstacle=has_something_left.no("its manifest says removed"))
    assert needs(seen(Watch.LOOKING, gone, keys=(warned(),))) == []
    torn = replace(TRACKED, obstacle=has_something_left.unknown("its manifest is damaged"))
    assert needs(seen(Watch.LOOKING, torn, keys=(warned(),))) == [(RUN, "")]


@pytest.mark.parametrize(
    ("since", "seen_to"),
    [
        ({}, False),
        ({"results_at": {FILE: 4}}, False),
        ({"results_at": {FILE: 6}}, True),
        ({"resumes": (Resume(RUN, FILE, "s", 5), Resume("new", FILE, "s", 6))}, True),
        ({"resumes": (Resume("old", FILE, "s", 2), Resume(RUN, FILE, "s", 5))}, False),
    ],
    ids=["nothing", "the result of the run before", "its own", "resumed since", "resumed before"],
)
def test_a_resumed_run_is_seen_to_by_what_came_after_its_own_resume(
    since: dict[str, object], seen_to: bool
) -> None:
    before = Transcript(
        (warned(then="resume"),), results=frozenset({FILE}), resumes=(Resume(RUN, FILE, "s", 5),)
    )
    found = seen(Watch.LOOKING, TRACKED, transcript=replace(before, **since))
    assert (needs(found) == []) is seen_to


def test_a_lost_run_that_is_being_handed_over_needs_nobody() -> None:
    claimed = key("lost", at=iso(NOW - 60), then="resume")
    assert needs(seen(Watch.LOOKING, STRANDED, keys=(claimed,))) == []


@pytest.mark.parametrize("name", ["nudged", "resumed"])
def test_what_was_recovered_after_all_needs_nobody(name: str) -> None:
    assert needs(seen(Watch.LOOKING, RESUMED, keys=(failed("lost"), failed(name)))) == []


def test_a_failure_older_than_asked_for_is_not_shown_and_one_without_a_time_is() -> None:
    assert needs(seen(Watch.LOOKING, keys=(failed("gaveUp", WEEK_SECONDS + 1),))) == []
    assert needs(seen(Watch.LOOKING, keys=(failed("gaveUp", WEEK_SECONDS - 1),))) != []
    assert needs(seen(Watch.LOOKING, keys=(key("gaveUp"),))) != []


def test_where_its_session_file_is_not_known_nothing_says_that_it_was_seen_to() -> None:
    found = seen(Watch.LOOKING, keys=(failed("gaveUp"),), sessions={})
    assert needs(found) == [(RUN, BACK)]


def test_an_unreadable_session_file_needs_nobody_by_itself() -> None:
    assert needs(seen(Watch.LOOKING, TRACKED, transcript=Unknown("torn"))) == []


# -- the rest --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["nudged", "resumed", "continued"])
def test_what_was_done_within_a_day_was_recovered(name: str) -> None:
    (one,) = view(seen(Watch.LOOKING, RESUMED, keys=(failed(name),)), NOW).recovered
    assert (one.run, one.name, one.at) == (RUN, "Zeta", NOW - 60)
    assert not view(seen(Watch.LOOKING, RESUMED, keys=(failed(name, DAY_SECONDS + 1),)), NOW).recovered
    assert not view(seen(Watch.LOOKING, RESUMED, keys=(key(name, at="noon"),)), NOW).recovered


def test_of_several_steps_the_last_is_told() -> None:
    keys = (failed("continued", 90), failed("resumed", 60))
    assert [one.at for one in view(seen(Watch.LOOKING, RESUMED, keys=keys), NOW).recovered] == [NOW - 60]


def test_what_is_stranded_is_under_way_where_somebody_can_go_on_with_it() -> None:
    assert view(seen(Watch.LOOKING, STRANDED, REPORTED), NOW).under_way == (STRANDED,)
    assert view(seen(Watch.CLOSED, STRANDED), NOW).under_way == ()


def test_a_launcher_with_nothing_to_tell_is_quiet() -> None:
    quiet = view(seen(Watch.LOOKING, TRACKED, REPORTED), NOW)
    assert quiet.is_quiet
    assert quiet.at_work == 1
    assert not view(seen(Watch.LOOKING, STRANDED), NOW).is_quiet
    assert needs_of([quiet, view(seen(Watch.CLOSED, TRACKED), NOW)])[0].run == RUN


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(-1, "0 s"), (3.9, "3 s"), (119, "119 s"), (120, "2 min"), (7200, "2 h"), (172_800, "2 days")],
)
def test_how_long_ago_is_said_in_one_unit(seconds: float, said: str) -> None:
    assert duration(seconds) == said
