"""What changed in a value since it was last written, so that only that is written.

A change is one of: `[value]`, another value stands here now; `[kept, [more]]`, so many members stay and these follow;
`{member: change or null}`, these members changed or are gone. No change at all is `None`. A set is a list without order,
so what was added to it follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from strawboss.recovery.verdict import Unknown
from strawboss.tape.codec import NotReadableError, plain

Change = Any
NOTHING: Any = object()


def change(old: Any, new: Any) -> Change | None:
    """How `new` differs from `old`, as plain data; None when it does not. `old` NOTHING: nothing was there."""
    if old is new or (type(old) is type(new) and old == new):
        return None
    if isinstance(old, Mapping) and isinstance(new, Mapping) and _has_names(old) and _has_names(new):
        return _of_members(old, new) or None
    if type(old) is type(new) and is_dataclass(new) and not isinstance(new, Unknown):
        names = [one.name for one in fields(new)]
        return _of_members(_held(old, names), _held(new, names))
    if isinstance(old, tuple) and isinstance(new, tuple):
        return _of_row(old, new)
    if isinstance(old, frozenset) and isinstance(new, frozenset) and frozenset() < old < new:
        return [len(old), plain(new - old)]
    return [plain(new)]


def _has_names(value: Mapping[Any, Any]) -> bool:
    return all(isinstance(key, str) for key in value)


def _held(value: Any, names: list[str]) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


def _of_members(old: Mapping[str, Any], new: Mapping[str, Any]) -> Change:
    changed = {name: change(old.get(name, NOTHING), value) for name, value in new.items()}
    gone: dict[str, Change] = {name: None for name in old if name not in new}
    return {name: one for name, one in changed.items() if one is not None} | gone


def _of_row(old: tuple[Any, ...], new: tuple[Any, ...]) -> Change:
    kept = next(
        (place for place, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]),
        min(len(old), len(new)),
    )
    return [kept, plain(new[kept:])] if kept else [plain(new)]


def changed(old: Any, by: Change | None) -> Any:
    """The plain data that `old` became; raises NotReadableError where that cannot be."""
    if by is None:
        return old
    if isinstance(by, list):
        return _changed_row(old, by)
    if not isinstance(by, dict):
        raise NotReadableError("a change is neither a list nor an object")
    held = dict(old) if isinstance(old, dict) else {}
    for name, one in by.items():
        if one is None:
            held.pop(name, None)
        else:
            held[name] = changed(held.get(name), one)
    return held


def _changed_row(old: Any, by: list[Any]) -> Any:
    if len(by) == 1:
        return by[0]
    if (
        len(by) == 2
        and isinstance(old, list)
        and type(by[0]) is int
        and 0 <= by[0] <= len(old)
        and isinstance(by[1], list)
    ):
        return old[: by[0]] + by[1]
    raise NotReadableError("a change does not fit what it changes")
