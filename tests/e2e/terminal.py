"""A real terminal of 80 columns for a command, and what it shows, as a person would see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Self

import pexpect
import pyte

COLUMNS, ROWS = 80, 40
SECONDS = 60.0


class Terminal:
    """The command in a pty; `screen` is drawn from all it has written."""

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str], columns: int = COLUMNS, rows: int = ROWS
    ) -> None:
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self.written = b""
        self._process = pexpect.spawn(
            command[0], list(command[1:]), env=dict(env), dimensions=(rows, columns), timeout=SECONDS
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.close(force=True)

    @property
    def lines(self) -> list[str]:
        """What is on the screen, without the empty end."""
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip().split("\n")

    def type(self, keys: str) -> None:
        self._process.send(keys)

    def resize(self, columns: int, rows: int) -> None:
        self._screen.resize(rows, columns)
        self._process.setwinsize(rows, columns)

    def until(self, holds: Callable[[Sequence[str]], bool]) -> list[str]:
        """The screen, once it is so; whatever the command writes meanwhile is drawn."""
        while not holds(self.lines):
            self._take(self._process.read_nonblocking(65536, SECONDS))
        return self.lines

    def wait(self) -> int:
        """The exit code, once the command has ended."""
        while True:
            try:
                self._take(self._process.read_nonblocking(65536, SECONDS))
            except pexpect.EOF:
                self._process.wait()
                assert self._process.exitstatus is not None
                return int(self._process.exitstatus)

    def _take(self, content: bytes) -> None:
        self.written += content
        self._stream.feed(content)
