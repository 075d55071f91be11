"""A real terminal of 80 columns for a command, and what it shows, as a person would see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Self

import pexpect
import pyte

COLUMNS, ROWS = 80, 40
SECONDS = 60.0


class Screen(pyte.Screen):
    """With what curses also sends to an xterm: rows scrolled up or down, a letter repeated."""

    def draw(self, data: str) -> None:
        super().draw(data)
        self._drawn = data[-1:]

    def scroll_up(self, count: int = 1) -> None:
        self._at_the_top(lambda: self.delete_lines(count))

    def scroll_down(self, count: int = 1) -> None:
        self._at_the_top(lambda: self.insert_lines(count))

    def repeat(self, count: int = 1) -> None:
        self.draw(self._drawn * count)

    def _at_the_top(self, act: Callable[[], None]) -> None:
        x, y = self.cursor.x, self.cursor.y
        self.cursor.y = self.margins.top if self.margins else 0
        act()
        self.cursor.x, self.cursor.y = x, y


class Stream(pyte.ByteStream):
    csi: ClassVar = pyte.ByteStream.csi | {"S": "scroll_up", "T": "scroll_down", "b": "repeat"}
    events = pyte.ByteStream.events | {"scroll_up", "scroll_down", "repeat"}


class Terminal:
    """The command in a pty; `screen` is drawn from all it has written."""

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        columns: int = COLUMNS,
        rows: int = ROWS,
        directory: Path | None = None,
    ) -> None:
        self._screen = Screen(columns, rows)
        self._stream = Stream(self._screen)
        self.written = b""
        self._process = pexpect.spawn(
            command[0],
            list(command[1:]),
            env=dict(env),
            cwd=directory,
            dimensions=(rows, columns),
            timeout=SECONDS,
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
