from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from strawboss.system.printable import printable


@given(st.text())
def test_whatever_a_text_holds_it_becomes_one_printable_line_of_the_same_length(text: str) -> None:
    shown = printable(text)
    assert len(shown) == len(text)
    assert all(char.isprintable() for char in shown)
