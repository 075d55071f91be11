"""Keys before acts: write one and know that it is in the file, or do nothing."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from strawboss.recovery import messages
from strawboss.recovery.commands import Command, Notify, WriteKey
from strawboss.recovery.known import Known
from strawboss.recovery.wording import iso

Asks = Generator[Command, Any, bool]


def write_key(known: Known, key: str, run: str, **data: str) -> Asks:
    """Whether the key is durable. Where it is not, nothing may follow, and one warning says so."""
    answer = yield WriteKey(key, run, {**data, "at": iso(known.now.wall)})
    if answer is True:
        known.keys[key, run] = known.keys.get((key, run), 0) + 1
        return True
    if known.first_time(f"key {key} {run}"):
        memory = known.runs[run]
        yield Notify("warning", messages.key_missing(key, memory.name, run, memory.session_file))
    return False
