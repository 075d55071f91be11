"""Any value of the core that a tape may hold, as hypothesis draws it."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from strawboss.recovery.evidence import KeyEntry, Launcher
from strawboss.recovery.memory import Memory, RunReport
from strawboss.recovery.settings import Settings
from strawboss.tape.lines import ANSWERS

# Names of files may hold bytes that are no UTF-8: Python has them as lone surrogates.
TEXTS = st.text(st.characters(exclude_categories=()), max_size=6)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(TEXTS, inner, max_size=2)),
    max_leaves=3,
)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
SHAPES: tuple[Any, ...] = (Memory, Launcher, Settings, RunReport, *ANSWERS.values())

st.register_type_strategy(str, TEXTS)
st.register_type_strategy(float, NUMBERS)
st.register_type_strategy(
    KeyEntry, st.builds(KeyEntry, TEXTS, TEXTS, st.dictionaries(TEXTS, JSON, max_size=2))
)


def of(shape: Any) -> st.SearchStrategy[Any]:
    return st.from_type(shape)
