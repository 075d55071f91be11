"""Lines: wrapped between words, coloured by meaning, harmless whatever is in them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from strawboss.overview.layout import Colour, Line, columns, cut, joined, wrapped

TEXTS = st.text(max_size=200)


@given(TEXTS, st.integers(0, 6), st.integers(20, 120))
def test_no_word_is_broken_and_only_a_word_that_does_not_fit_makes_a_longer_line(
    text: str, indent: int, width: int
) -> None:
    lines = wrapped(text, indent, width)
    assert all(line.isprintable() for line in lines)
    words = [word for line in lines for word in line.split()]
    plain = "".join(char if char.isprintable() else " " for char in text)
    assert words == plain.split()
    for line in lines:
        assert columns(line) <= width or len(line.split()) == 1


@given(TEXTS)
def test_without_a_width_a_line_is_a_line(text: str) -> None:
    assert len(wrapped(text, 2, None)) == 1


def test_lines_it_goes_on_with_are_further_in() -> None:
    assert wrapped("one two three", 2, 10) == ["  one two", "    three"]


def test_a_command_that_goes_on_can_be_copied() -> None:
    assert wrapped("cd /w && pi --session x", 0, 12, " \\") == [
        "cd /w && \\",
        "  pi \\",
        "  --session \\",
        "  x",
    ]


def test_wide_letters_take_two_columns_and_marks_none() -> None:
    assert (columns("ab"), columns("漢字"), columns("e\u0301")) == (2, 4, 1)


def test_colours_are_left_out_where_they_are_not_wanted() -> None:
    line = Line("x", Colour.NEEDS)
    assert joined([line], 80, colours=True) == ["\x1b[31;1mx\x1b[0m"]
    assert joined([line], 80, colours=False) == ["x"]
    assert joined([Line("x")], 80, colours=True) == ["x"]


def test_a_long_name_is_cut() -> None:
    assert cut("abcdef", 4) == "abc…"
    assert cut("abcd", 4) == "abcd"
