"""Writing heartbeats: one file per agent, replaced whole, the last word being the terminal record (spec/2, "cadence")."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from strawboss.heartbeat.clocks import sleep_clock
from strawboss.heartbeat.record import Beat
from strawboss.heartbeat.utc import format_utc
from strawboss.system.files import FILE_MODE, make_private_directory
from strawboss.system.json_files import read_object, write_json

# Poll cadence of the contract: every poll is a beat, and a beat is due every two to three minutes at the latest.
CADENCE_SECONDS = 90.0
SLOWEST_CADENCE_SECONDS = 180.0
LOCK_TIMEOUT_SECONDS = 10.0


def check_cadence(seconds: float) -> None:
    """Raises ValueError for a pause the contract does not allow."""
    if not 0 < seconds <= SLOWEST_CADENCE_SECONDS:
        raise ValueError(
            f"a pause of {seconds:g}s between beats; the contract wants one every 180s at the latest"
        )


def write(directory: Path, beat: Beat, now: datetime) -> Path:
    """Write one beat and return its file; raises OSError, the file then holds what it held."""
    path = directory / f"{beat.agent_id}.json"
    with _sole_writer(path):
        write_json(path, _with_clock(beat.content(now)))
    return path


def renew(directory: Path, agent_id: str, now: datetime) -> bool:
    """Beat again with what the record says; False when it is terminal. Raises OSError, also when there is no record.

    `beat_for_process` renews beside a worker that writes too: it must neither undo a newer
    message nor revive an ended worker.
    """
    path = directory / f"{agent_id}.json"
    with _sole_writer(path):
        content = read_object(path)
        if not isinstance(content, dict):
            raise OSError(f"{path}: {content.reason if content else 'the record is gone'}")
        if content.get("terminal_state") or content.get("phase") == "terminal":
            return False
        write_json(path, _with_clock(content | {"last_heartbeat_at": format_utc(now)}))
    return True


def finish_unless_finished(directory: Path, beat: Beat, now: datetime) -> bool:
    """Write a terminal beat, but keep the worker's own if it wrote one; False then. Raises OSError."""
    path = directory / f"{beat.agent_id}.json"
    with _sole_writer(path):
        content = read_object(path)
        if isinstance(content, dict) and content.get("terminal_state"):
            return False
        write_json(path, _with_clock(beat.content(now)))
    return True


def _with_clock(content: dict[str, Any]) -> dict[str, Any]:
    clock = sleep_clock()
    if clock is None:
        return content
    extra = content.get("extra")
    return content | {"extra": (extra if isinstance(extra, dict) else {}) | clock.as_extra()}


@contextmanager
def _sole_writer(path: Path) -> Iterator[None]:
    make_private_directory(path.parent)
    try:
        lock = FileLock(path.with_name(f".{path.stem}.lock"), mode=FILE_MODE)
        with lock.acquire(LOCK_TIMEOUT_SECONDS, poll_interval=0.01):
            yield
    except Timeout as error:
        raise OSError(f"{path}: another writer has held it for {LOCK_TIMEOUT_SECONDS:.0f} seconds") from error
