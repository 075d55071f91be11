"""The screen while somebody watches: it is never overrun, what is chosen is on it, and stays chosen."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from overview.test_judge import NOW, STRANDED, TRACKED, seen
from recovery.given import LAUNCHER

from strawboss.overview.judge import view
from strawboss.overview.layout import Colour, Line, columns
from strawboss.overview.page import Block, page
from strawboss.overview.screen import (
    KEYS,
    KEYS_OF_EXPLANATION,
    Row,
    Screen,
    about,
    back,
    explaining,
    frame,
    moved,
    refreshed,
)
from strawboss.overview.seen import Watch

WIDTHS, HEIGHTS = st.integers(1, 120), st.integers(1, 40)
LINES = st.builds(Line, st.text(max_size=120), st.sampled_from(Colour), st.integers(0, 4))


def closed(*runs: str) -> tuple[Block, ...]:
    """The page of one closed launcher with these runs."""
    return tuple(page([view(seen(Watch.CLOSED, *(replace(TRACKED, run=run) for run in runs)), NOW)], NOW))


def chosen_rows(screen: Screen, width: int = 80, height: int = 24) -> list[Row]:
    return [row for row in frame(screen, width, height) if row.chosen]


def run_of(screen: Screen) -> str:
    one = about(screen)
    return one.run if one else ""


# -- the frame -------------------------------------------------------------------------------------------------


@given(st.integers(0, 60), st.integers(0, 70), WIDTHS, HEIGHTS)
def test_a_page_never_overruns_the_terminal(runs: int, steps: int, width: int, height: int) -> None:
    screen = moved(refreshed(Screen(), closed(*(f"{n:08x}" for n in range(runs)))), steps, width, height)
    rows = frame(screen, width, height)
    assert len(rows) == height
    assert all(columns(row.text) <= max(width, 2) for row in rows)
    assert columns(rows[-1].text) <= max(width - 1, 1)  # a terminal scrolls when its last cell is written


@given(st.lists(LINES, max_size=20), st.integers(-60, 60), WIDTHS, HEIGHTS)
def test_an_explanation_never_overruns_the_terminal_whatever_is_in_it(
    told: list[Line], steps: int, width: int, height: int
) -> None:
    rows = frame(moved(explaining(Screen(), told), steps, width, height), width, height)
    assert len(rows) == height
    assert all(row.text.isprintable() and columns(row.text) <= max(width, 2) for row in rows)


@given(st.integers(1, 20), st.integers(0, 25), st.integers(3, 40))
def test_what_is_chosen_is_on_the_screen(runs: int, steps: int, height: int) -> None:
    screen = refreshed(Screen(), closed(*(f"{n:08x}" for n in range(runs))))
    for _ in range(steps):
        screen = moved(screen, 1, 80, height)
    assert chosen_rows(screen, height=height)
    assert f"({run_of(screen)})" in chosen_rows(screen, height=height)[0].text


def test_words_that_are_wider_than_the_terminal_go_on_in_the_next_row() -> None:
    rows = frame(explaining(Screen(), [Line("a" * 25)]), 10, 5)
    assert [row.text for row in rows[:3]] == ["a" * 10, "a" * 10, "a" * 5]


def test_with_the_last_choice_what_comes_after_it_is_seen_too() -> None:
    screen = refreshed(Screen(), closed(*(f"{n:08x}" for n in range(27))))
    assert "and 7 more" not in "\n".join(row.text for row in frame(screen, 80, 10))
    screen = moved(screen, 100, 80, 10)
    assert frame(screen, 80, 10)[-2].text == "  and 7 more"


def test_the_last_row_tells_the_keys_or_what_has_just_been_done() -> None:
    assert frame(Screen(), 80, 5)[-1] == Row(KEYS, Colour.QUIET)
    assert frame(Screen(told=()), 80, 5)[-1] == Row(KEYS_OF_EXPLANATION, Colour.QUIET)
    noted = Screen(note="copied")
    assert frame(noted, 80, 5)[-1].text == "copied"
    assert moved(noted, 1, 80, 5).note == back(noted).note == ""


# -- choosing --------------------------------------------------------------------------------------------------


def test_only_what_tells_of_something_can_be_chosen() -> None:
    assert about(Screen()) is None
    screen = refreshed(Screen(), closed("a1", "b2"))
    assert run_of(screen) == "a1"
    assert run_of(moved(screen, 1, 80, 24)) == "b2"


def test_the_choice_stops_at_both_ends() -> None:
    screen = refreshed(Screen(), closed("a1", "b2"))
    assert run_of(moved(screen, 9, 80, 24)) == "b2"
    assert run_of(moved(screen, -9, 80, 24)) == "a1"
    assert about(moved(Screen(), 9, 80, 24)) is None


def test_the_same_thing_stays_chosen_when_the_page_changes() -> None:
    screen = moved(refreshed(Screen(), closed("a1", "b2")), 1, 80, 24)
    assert run_of(refreshed(screen, closed("00", "a1", "b2"))) == "b2"


def test_when_it_is_gone_what_stands_in_its_place_is_chosen() -> None:
    screen = moved(refreshed(Screen(), closed("a1", "b2", "c3")), 1, 80, 24)
    assert run_of(refreshed(screen, closed("a1", "c3"))) == "c3"
    assert run_of(refreshed(screen, closed("a1"))) == "a1"
    assert about(refreshed(screen, ())) is None


def test_a_run_of_another_launcher_is_another_thing() -> None:
    def of(name: str, *states: str) -> tuple[Block, ...]:
        launcher = replace(LAUNCHER, id=name)
        found = [
            view(seen(Watch.LOOKING, replace(STRANDED, run=state), launcher=launcher), NOW)
            for state in states
        ]
        return tuple(page(found, NOW))

    screen = moved(refreshed(Screen(), of("one", "a1", "b2")), 1, 80, 24)
    assert run_of(refreshed(screen, of("two", "b2", "a1"))) == "a1"  # by its place


# -- explaining ------------------------------------------------------------------------------------------------


def test_an_explanation_stands_in_place_of_the_page_and_leaves_the_choice() -> None:
    screen = moved(refreshed(Screen(), closed("a1", "b2")), 1, 80, 24)
    told = explaining(screen, [Line("because")])
    assert frame(told, 80, 5)[0].text == "because"
    assert chosen_rows(told) == []
    assert run_of(back(told)) == "b2"


def test_a_refresh_does_not_take_the_explanation_away() -> None:
    told = explaining(Screen(), [Line("because")])
    assert frame(refreshed(told, closed("a1")), 80, 5)[0].text == "because"


def test_it_scrolls_to_its_end_and_no_further_and_back() -> None:
    told = explaining(Screen(), [Line(f"line {number}") for number in range(30)])
    down = moved(told, 1000, 80, 11)
    assert [row.text for row in frame(down, 80, 11)[:-1]] == [f"line {number}" for number in range(20, 30)]
    assert frame(moved(down, -1, 80, 11), 80, 11)[0].text == "line 19"
    assert frame(moved(down, -1000, 80, 11), 80, 11)[0].text == "line 0"


def test_a_terminal_that_grows_shows_more_of_it_and_a_key_counts_from_there() -> None:
    told = moved(explaining(Screen(), [Line(str(number)) for number in range(30)]), 1000, 80, 11)
    assert frame(told, 80, 31)[0].text == "0"
    assert frame(moved(told, -1, 80, 21), 80, 21)[0].text == "9"
