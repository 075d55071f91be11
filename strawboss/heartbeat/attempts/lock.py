"""The ledger's lock file, in the form other tools take and respect: `<unit>.json.lock` with the owner's pid.

A dead owner's lock is taken over, a living one's never, however old. A pid that was used again is not its owner.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import psutil

from strawboss.heartbeat.utc import format_utc, parse_utc
from strawboss.system.json_files import Broken, create_json, read_object

# Another tool creates its lock empty and fills it a moment later.
HALF_WRITTEN_SECONDS = 0.2
# How much later than its lock a process may seem to have started: the lock's time is in whole seconds.
START_SLACK_SECONDS = 2.0
TRIES = 3


class LedgerHeldError(Exception):
    """Somebody else has the ledger; the text says who."""


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of one ledger file. Raises LedgerHeldError, or OSError when the directory cannot be written."""
    lock, token = path.with_name(path.name + ".lock"), secrets.token_hex(8)
    _acquire(lock, token)
    try:
        yield
    finally:
        _release(lock, token)


def _acquire(lock: Path, token: str) -> None:
    mine = {"pid": os.getpid(), "token": token, "startedAt": format_utc(datetime.now(UTC))}
    for _ in range(TRIES):
        if create_json(lock, mine):
            return
        if owner := _living_owner(lock):
            raise LedgerHeldError(f"{lock} is held by {owner}")
        _reclaim(lock, mine)
    raise LedgerHeldError(f"{lock} is contended; try again")


def _release(lock: Path, token: str) -> None:
    held = read_object(lock)
    if isinstance(held, dict) and held.get("token") == token:
        with suppress(OSError):
            lock.unlink()


def _reclaim(lock: Path, mine: dict[str, object]) -> None:
    """Remove a dead owner's lock. The ticket makes sure that only one process does, and that it is still that lock."""
    ticket = lock.with_name(lock.name + ".reclaim")
    if not create_json(ticket, mine):
        if _living_owner(ticket):
            raise LedgerHeldError(f"{ticket} is held by another process that cleans up")
        with suppress(OSError):
            ticket.unlink()
        return
    try:
        if not _living_owner(lock):
            lock.unlink(missing_ok=True)
    finally:
        ticket.unlink(missing_ok=True)


def _living_owner(lock: Path) -> str:
    """Who holds it, or an empty string when nobody that lives does."""
    content = read_object(lock)
    if isinstance(content, Broken):
        time.sleep(HALF_WRITTEN_SECONDS)
        content = read_object(lock)
    if not isinstance(content, dict) or not isinstance(pid := content.get("pid"), int) or pid < 1:
        return ""
    started = parse_utc(str(content.get("startedAt")))
    return f"process {pid}" if _may_be(pid, started) else ""


def _may_be(pid: int, locked_at: datetime | None) -> bool:
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        return locked_at is None or process.create_time() <= locked_at.timestamp() + START_SLACK_SECONDS
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:
        return True
