"""The process's own log: JSON lines, private, bounded in size and number. Ids and outcomes, never names or texts.

One file a session, so that two processes never rotate one file under each other.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from strawboss.system.files import FILE_MODE, make_private_directory

SIZE = 512 * 1024  # bytes; one file that was full is kept beside the one being written
KEPT_FILES = 60  # of all sessions, the newest
APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND


class Log:
    """`info`, `warning`, `failed` with facts. What cannot be written is lost, silently: a full disk must not end a look,
    and there is nowhere else to complain. Nothing is opened before the first line."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory, self.file = directory, directory / f"{name}.jsonl"
        self._descriptor: int | None = None

    def info(self, event: str, **facts: object) -> None:
        self._write("info", event, facts)

    def warning(self, event: str, **facts: object) -> None:
        self._write("warning", event, facts)

    def failed(self, event: str, **facts: object) -> None:
        """An error with the traceback of the exception being handled."""
        from traceback import format_exc

        self._write("error", event, {**facts, "exception": format_exc()})

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = None

    def _write(self, level: str, event: str, facts: dict[str, object]) -> None:
        said = {"level": level, "event": event, "timestamp": _now(), **facts}
        line = msgspec.json.encode(said, enc_hook=str) + b"\n"
        with suppress(OSError):
            os.write(self._with_room(len(line)), line)

    def _with_room(self, size: int) -> int:
        """The open file; a new one where the line would make it too large."""
        if self._descriptor is None:
            make_private_directory(self._directory)
            _prune(self._directory)
            self._descriptor = os.open(self.file, APPEND, FILE_MODE)
        if os.fstat(self._descriptor).st_size + size > SIZE:
            self.close()
            self.file.replace(self.file.with_name(f"{self.file.name}.1"))
            self._descriptor = os.open(self.file, APPEND, FILE_MODE)
        return self._descriptor


def _now() -> str:
    """UTC, to the millisecond."""
    now = time.time()
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now % 1 * 1000):03}Z"


def _prune(directory: Path) -> None:
    files = sorted(directory.glob("*.jsonl*"), key=lambda file: file.stat().st_mtime, reverse=True)
    for old in files[KEPT_FILES:]:
        with suppress(OSError):
            old.unlink()
