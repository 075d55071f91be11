"""What was made of a value is made once: from look to look a tape has the same objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")
MOST = 20_000


class Memo(Generic[T]):
    """`of(value, make)`: `make(value)`, or what it made of this very object before. `kind`: what else that depends on."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, int], tuple[Any, T]] = {}

    def has(self, value: Any, kind: str = "") -> bool:
        return (kind, id(value)) in self._made

    def of(self, value: Any, make: Callable[[Any], T], kind: str = "") -> T:
        known = self._made.get((kind, id(value)))
        if known is not None:
            return known[1]
        if len(self._made) >= MOST:
            self._made.clear()
        made = make(value)
        self._made[kind, id(value)] = (value, made)  # which it keeps, so that its id is nobody else's
        return made
