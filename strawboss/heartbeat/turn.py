"""Turns at a file: whoever has it is the only one that reads, decides and writes, from the first look to the last."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from strawboss.system.files import FILE_MODE

LONGEST_WAIT_SECONDS = 10.0


@contextmanager
def turn_at(path: Path) -> Iterator[None]:
    """Hold `path`, whose directory must be there. Raises OSError when another holds it for too long."""
    try:
        lock = FileLock(path.with_name(f".{path.stem}.lock"), mode=FILE_MODE)
        with lock.acquire(LONGEST_WAIT_SECONDS, poll_interval=0.01):
            yield
    except Timeout as error:
        raise OSError(f"{path}: another has held it for {LONGEST_WAIT_SECONDS:.0f} seconds") from error
