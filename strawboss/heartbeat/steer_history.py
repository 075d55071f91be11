"""What became of the steers of one agent: which ids were written, read and acknowledged.

A slot and an ack hold one id each. Only with this can an id be refused that was used before (its ack or its first-seen
stamp would speak for the new steer), and a steer be acknowledged that was read in time and expired since.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from strawboss.heartbeat.utc import format_utc
from strawboss.system.json_files import Broken, read_object, write_json

# A steer is some hundred bytes here, and a file of 1 MiB would no longer be read.
MOST_STEERS = 4000


@dataclass(frozen=True, slots=True)
class SteerHistory:
    """Of each steer id, oldest first, when it was `written`, `read` and `acked`."""

    path: Path
    steers: Mapping[str, Mapping[str, Any]]

    def was_used(self, steer_id: str) -> bool:
        return steer_id in self.steers

    def was_read(self, steer_id: str) -> bool:
        return "read" in self.steers.get(steer_id, {})

    def note(self, steer_id: str, what: str, now: datetime) -> None:
        """Keep that a steer was `written`, `read` or `acked`; raises OSError."""
        noted = {what: format_utc(now)} | dict(self.steers.get(steer_id, {}))
        steers = list((dict(self.steers) | {steer_id: noted}).items())
        write_json(self.path, {"steers": dict(steers[-MOST_STEERS:])})


def read_history(directory: Path, agent_id: str) -> SteerHistory:
    """The history beside an agent's slot, under a name no sweep takes for one.

    Raises OSError when it is damaged: what was used is unknown then.
    """
    path = directory / f".{agent_id}.history"
    content = read_object(path)
    steers = {} if content is None else None if isinstance(content, Broken) else content.get("steers")
    if not isinstance(steers, dict) or not all(isinstance(steer, dict) for steer in steers.values()):
        raise OSError(f"{path} is damaged; remove it by hand")
    return SteerHistory(path, steers)
