"""Stand-ins keep what compares equal, what begins alike and what goes before, and nothing of the words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strawboss.tape.standin import StandIns, in_order

KEY = b"a key that is thrown away"
IDS = st.text("0123456789abcdef", min_size=4, max_size=8)
ANY = st.text(st.characters(exclude_categories=()), max_size=12)


@given(ANY)
def test_no_letter_stays_in_its_place_and_all_marks_do(text: str) -> None:
    stand_in = StandIns(KEY).text(text)
    assert len(stand_in) == len(text)
    for before, after in zip(text, stand_in, strict=True):
        is_word = before.isalnum() or before > "\x7f"
        assert (before != after) == is_word


@given(ANY, ANY)
def test_the_same_is_the_same_and_other_things_are_others(one: str, other: str) -> None:
    names = StandIns(KEY)
    assert (names.text(one) == names.text(other)) == (one == other)
    assert names.text(one) == StandIns(KEY).text(one)


@given(st.text("abcXYZ019", min_size=1, max_size=6), st.text("abcXYZ019", max_size=4))
def test_beginnings_of_each_other_stay_that(word: str, more: str) -> None:
    names = StandIns(KEY)
    assert names.text(word + more).startswith(names.text(word))


@given(st.sets(IDS, max_size=12))
def test_ordered_words_stay_in_order_and_none_as_it_was(words: set[str]) -> None:
    found = in_order(words, KEY)
    assert [found[one] for one in sorted(words)] == sorted(found.values())
    assert all(re.fullmatch("[0-9a-f]+", one) and len(one) == len(before) for before, one in found.items())
    assert not any(before == one for before, one in found.items())


@given(st.sets(IDS, min_size=2, max_size=8))
def test_the_beginning_of_an_id_is_that_of_its_stand_in(words: set[str]) -> None:
    torn = min(words)[:3]
    found = in_order(words | {torn}, KEY)
    assert all(word.startswith(torn) == one.startswith(found[torn]) for word, one in found.items())


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        (
            "/home/pi/artifacts/a1/subagent-scripts/x-b2.sh",
            r"/\w+/\w\w/artifacts/\w\w/subagent-scripts/\w-\w\w\.sh",
        ),
        ("/s/2026_a1b2-3.jsonl", r"/\w/\d{4}_\w{4}-\d\.jsonl"),
        (r"C:\Users\pi\x.sh", r"[A-Z]:\\\w+\\\w\w\\\w\.sh"),
        ("x.sh", r"\w\.[a-z]{2}"),
    ],
)
def test_a_path_keeps_what_makes_it_a_script_or_a_session(path: str, shape: str) -> None:
    stand_in = StandIns(KEY).path(path)
    assert re.fullmatch(shape, stand_in)
    assert "pi" not in re.split(r"[/\\.]", stand_in)


@pytest.mark.parametrize(("path", "ends"), [("/home/pi/bin/pi", "/pi"), ("pi", "pi"), (r"C:\pi\pi", "\\pi")])
def test_of_a_program_only_pi_is_told(path: str, ends: str) -> None:
    stand_in = StandIns(KEY).program(path)
    assert stand_in.endswith(ends)
    assert stand_in.count("pi") == 1
    assert not StandIns(KEY).program("/home/pi/bin/node").endswith("node")


def test_a_pid_is_the_same_number_everywhere() -> None:
    names = StandIns(KEY)
    assert [names.number(one) for one in (77, 4, 77)] == [1001, 1002, 1001]


def test_another_key_makes_others() -> None:
    assert StandIns(b"one").text("launcher") != StandIns(b"two").text("launcher")
