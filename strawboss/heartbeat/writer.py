"""Writing heartbeats: one file per agent, replaced whole, the last word being the terminal record.

Reading what is there, deciding and writing are one step under one lock, and an agent that has ended stays ended until
a new life says `starting`.

Source: docs/heartbeat.md#cadence.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil

from strawboss.heartbeat.clocks import sleep_clock
from strawboss.heartbeat.places import make_scratch
from strawboss.heartbeat.record import Beat, Record, examine
from strawboss.heartbeat.turn import turn_at
from strawboss.heartbeat.utc import format_utc
from strawboss.system.json_files import read_object, write_json

# Poll cadence of the contract: every poll is a beat, and a beat is due every two to three minutes at the latest.
CADENCE_SECONDS = 90.0
SLOWEST_CADENCE_SECONDS = 180.0
# What `write_json` leaves behind when its process is killed between writing and renaming.
_STRAY = re.compile(r"\..+\.json\.([1-9][0-9]{0,8})\.[0-9]+\.tmp")


class EndedError(Exception):
    """The agent has said its last word; the text says which."""

    @classmethod
    def of(cls, record: Record) -> EndedError:
        return cls(f"{record.label} has ended ({record.terminal_state}); a new life begins with 'starting'")


@dataclass(frozen=True, slots=True)
class Written:
    """A beat as written; `replaced` says what it took the place of when that was more than the last beat."""

    path: Path
    beat: Beat
    replaced: str


def check_cadence(seconds: float) -> None:
    """Raises ValueError for a pause the contract does not allow."""
    if not 0 < seconds <= SLOWEST_CADENCE_SECONDS:
        raise ValueError(
            f"a pause of {seconds:g}s between beats; the contract wants one every 180s at the latest"
        )


def write_next(
    directory: Path, agent_id: str, decide: Callable[[Record | None], Beat], now: datetime
) -> Written:
    """Write what `decide` makes of the record that is there. Raises EndedError, OSError, and what `decide` raises.

    The file holds what it held then.
    """
    path = make_scratch(directory) / f"{agent_id}.json"
    with turn_at(path):
        _remove_strays(directory)
        before = _read(path, now)
        beat = decide(before)
        if before and before.has_ended and beat.phase != "starting":
            raise EndedError.of(before)
        write_json(path, _with_clock(beat.content(now)))
    return Written(path, beat, _replaced(before, beat))


def write(directory: Path, beat: Beat, now: datetime) -> Path:
    """Write one beat and return its file; raises EndedError or OSError, the file then holds what it held."""
    return write_next(directory, beat.agent_id, lambda _before: beat, now).path


def renew(directory: Path, agent_id: str, now: datetime) -> bool:
    """Beat again with what the record says; False when it is terminal. Raises OSError, also when there is no record.

    `beat_for_process` renews beside a worker that writes too: it must neither undo a newer
    message nor revive an ended worker.
    """
    path = make_scratch(directory) / f"{agent_id}.json"
    with turn_at(path):
        content = read_object(path)
        if not isinstance(content, dict):
            raise OSError(f"{path}: {content.reason if content else 'the record is gone'}")
        if content.get("terminal_state") or content.get("phase") == "terminal":
            return False
        write_json(path, _with_clock(content | {"last_heartbeat_at": format_utc(now)}))
    return True


def finish_unless_finished(directory: Path, beat: Beat, now: datetime) -> bool:
    """Write a terminal beat, but keep the worker's own if it wrote one; False then. Raises OSError."""
    try:
        write(directory, beat, now)
    except EndedError:
        return False
    return True


def _read(path: Path, now: datetime) -> Record | None:
    content = read_object(path)
    return None if content is None else examine(str(path), path.stem, content, now, stale_after=float("inf"))


def _replaced(before: Record | None, beat: Beat) -> str:
    if before is None:
        return ""
    if before.has_ended:
        return f"the terminal record {before.terminal_state} of its earlier life"
    if before.failures:
        return f"a record that could not be used: {before.failures[0]}"
    # Whom an agent reports to is who may steer it.
    return f"its parent {before.parent_id}" if before.parent_id != beat.parent_id else ""


def _remove_strays(directory: Path) -> None:
    """Temporary files of writers that were killed; one whose process lives is about to be renamed."""
    for entry in os.scandir(directory):
        stray = _STRAY.fullmatch(entry.name)
        if stray and not psutil.pid_exists(int(stray[1])):
            with suppress(OSError):
                Path(entry.path).unlink()


def _with_clock(content: dict[str, Any]) -> dict[str, Any]:
    clock = sleep_clock()
    if clock is None:
        return content
    extra = content.get("extra")
    return content | {"extra": (extra if isinstance(extra, dict) else {}) | clock.as_extra()}
