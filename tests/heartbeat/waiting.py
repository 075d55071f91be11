"""Waits for the thing itself, never for a while."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
DEADLINE_SECONDS = 90.0


def until(look: Callable[[], T], what: str = "it") -> T:
    """What `look` gives once it is true; fails after the deadline."""
    end = time.monotonic() + DEADLINE_SECONDS
    while not (found := look()):
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)
    return found
