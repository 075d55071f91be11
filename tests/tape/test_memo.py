"""What is made of one object is made once, and never taken for what was made of another."""

from __future__ import annotations

from typing import Any

from strawboss.tape import memo
from strawboss.tape.memo import Memo


def test_the_same_object_is_made_once_and_an_equal_one_again() -> None:
    made: Memo[list[Any]] = Memo()
    one, other = [1], [1]
    first = made.of(one, list)
    assert made.of(one, list) is first
    assert made.of(other, list) is not first
    assert made.has(one)
    assert not made.has([1])


def test_one_object_may_be_of_two_kinds() -> None:
    made: Memo[str] = Memo()
    assert (made.of(True, str, "a"), made.of(True, repr, "b")) == ("True", "True")
    assert not made.has(True, "c")


def test_an_object_that_is_gone_lends_its_id_to_nobody() -> None:
    made: Memo[int] = Memo()
    assert [made.of([number], lambda one: one[0]) for number in range(1000)] == list(range(1000))


def test_it_holds_only_so_many() -> None:
    made: Memo[int] = Memo()
    for number in range(memo.MOST + 10):
        made.of([number], lambda one: one[0])
    assert len(made._made) == 10
