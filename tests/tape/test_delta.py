"""A change says what is new and no more, and makes the new value of the old one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tape.shapes import SHAPES, of

from strawboss.recovery.evidence import Activity, KeyEntry, Transcript
from strawboss.recovery.verdict import Unknown
from strawboss.tape.codec import NotReadableError, plain, typed
from strawboss.tape.delta import NOTHING, change, changed
from strawboss.tape.lines import decode, encode

ACTIVE = Activity("active", "tool_call", 1.0)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_change_makes_the_new_value_of_the_old_one(shape: Any, data: st.DataObject) -> None:
    old, new = data.draw(of(shape)), data.draw(of(shape))
    by = change(old, new)
    assert (by is None) == (old == new)
    assert typed(changed(plain(old), decode(encode(by))), shape) == new


@given(st.lists(st.builds(KeyEntry, st.just("seen"), st.text(max_size=2)), max_size=5), st.integers(0, 5))
def test_what_grows_says_only_what_came(entries: list[KeyEntry], before: int) -> None:
    old, new = Transcript(tuple(entries[:before])), Transcript(tuple(entries))
    by = change(old, new)
    assert typed(changed(plain(old), by), Transcript) == new
    if 0 < before < len(entries):
        assert by == {"keys": [before, plain(new.keys[before:])]}


@pytest.mark.parametrize(
    ("old", "new", "by"),
    [
        (ACTIVE, ACTIVE, None),
        (NOTHING, (), [[]]),
        ({"a": ACTIVE}, {"a": Activity("active", "tool_call", 2.0)}, {"a": {"updated_at": [2.0]}}),
        ({"a": ACTIVE}, {}, {"a": None}),
        ({"a": ACTIVE}, {"a": Unknown("torn")}, {"a": [{"unknown": "torn"}]}),
        (Unknown("torn"), Unknown("gone"), [{"unknown": "gone"}]),
        (frozenset("a"), frozenset("ab"), [1, ["b"]]),
        (frozenset("ab"), frozenset("a"), [["a"]]),
        ((1, 2), (1, 3, 4), [1, [3, 4]]),
        ((1, 2), (1,), [1, []]),
    ],
)
def test_it_is_as_small_as_this(old: Any, new: Any, by: Any) -> None:
    assert change(old, new) == by


@pytest.mark.parametrize("by", ["x", 3, [], [1, 2, 3], [5, []], [-1, []], [True, []], [0, {}], [1, None]])
@pytest.mark.parametrize("old", [None, [], {}, "x"])
def test_a_change_that_fits_nothing_is_refused(old: Any, by: Any) -> None:
    with pytest.raises(NotReadableError):
        changed(old, by)
