"""The process's own log: JSON lines, private, bounded in size and number. Ids and outcomes, never names or texts.

One file a session, so that two processes never rotate one file under each other.
"""

from __future__ import annotations

from contextlib import suppress
from io import TextIOWrapper
from logging import LogRecord, makeLogRecord
from logging.handlers import RotatingFileHandler
from os import open as open_descriptor
from pathlib import Path
from typing import Any

from strawboss.system.files import FILE_MODE, make_private_directory

SIZE = 512 * 1024
BACKUPS = 1
KEPT_FILES = 60  # of all sessions, the newest


def _open_private(path: str, flags: int) -> int:
    return open_descriptor(path, flags, FILE_MODE)


class _PrivateFile(RotatingFileHandler):
    def _open(self) -> TextIOWrapper:
        return TextIOWrapper(open(self.baseFilename, "ab", opener=_open_private), encoding="utf-8")

    def handleError(self, record: LogRecord) -> None:  # noqa: N802 - logging's name
        """A full disk must not end a look, and there is nowhere else to complain."""


class _Sink:
    """What structlog prints to, at every level."""

    def __init__(self, file: Path) -> None:
        self._handler = _PrivateFile(file, maxBytes=SIZE, backupCount=BACKUPS, delay=True)

    def msg(self, line: str) -> None:
        self._handler.handle(makeLogRecord({"msg": line}))

    debug = info = warning = error = msg

    def close(self) -> None:
        self._handler.close()


class Log:
    """`info`, `warning`, `error` with facts. structlog is imported at the first of them: an idle start has none."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory, self._file = directory, directory / f"{name}.jsonl"
        self._sink = _Sink(self._file)
        self._logger: Any = None

    @property
    def file(self) -> Path:
        return self._file

    def info(self, event: str, **facts: object) -> None:
        self._opened().info(event, **facts)

    def warning(self, event: str, **facts: object) -> None:
        self._opened().warning(event, **facts)

    def failed(self, event: str, **facts: object) -> None:
        """An error with the traceback of the exception being handled."""
        self._opened().error(event, exc_info=True, **facts)

    def close(self) -> None:
        self._sink.close()
        self._logger = None

    def _opened(self) -> Any:
        if self._logger is None:
            with suppress(OSError):  # then every line is lost, silently: see handleError
                make_private_directory(self._directory)
                _prune(self._directory)
            self._logger = _structured(self._sink)
        return self._logger


def _structured(sink: _Sink) -> Any:
    import structlog

    return structlog.wrap_logger(
        sink,
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.BoundLogger,
        cache_logger_on_first_use=True,
    )


def _prune(directory: Path) -> None:
    files = sorted(directory.glob("*.jsonl*"), key=lambda file: file.stat().st_mtime, reverse=True)
    for old in files[KEPT_FILES:]:
        with suppress(OSError):
            old.unlink()
