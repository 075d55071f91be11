"""Private files: written whole or not at all, readable by their owner only."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

FILE_MODE = 0o600
DIRECTORY_MODE = 0o700
# Windows: another program (a virus scanner, a reader) holds the file for a moment. Nothing else is worth a second try.
SHARING_ERRORS = frozenset({5, 32, 33})
REPLACE_TRIES = 8


def make_private_directory(path: Path) -> Path:
    """Create `path` and its missing parents, each 0700; raises OSError."""
    for missing in reversed([one for one in (path, *path.parents) if not one.exists()]):
        with suppress(FileExistsError):  # somebody else made it meanwhile
            missing.mkdir(mode=DIRECTORY_MODE)
    return path


def write_atomically(path: Path, content: bytes) -> None:
    """Replace `path` by `content` (0600): a reader sees the old bytes or the new ones, never a part. Raises OSError."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns()}.tmp")
    try:
        _write_new(temporary, content)
        _replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _write_new(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _replace(source: Path, target: Path, sleep: Callable[[float], None] = time.sleep) -> None:
    for attempt in range(1, REPLACE_TRIES + 1):
        try:
            source.replace(target)
        except PermissionError as error:
            if getattr(error, "winerror", None) not in SHARING_ERRORS or attempt == REPLACE_TRIES:
                raise
            sleep(0.01 * 2**attempt)
        else:
            return
