"""What is played, as a tape in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from strawboss.system.files import write_atomically
from strawboss.tape.lines import encode
from strawboss.tape.look_lines import Recorder, Steps
from strawboss.tape.play import Taking


class SavedTape:
    """`record` is for `play`. A segment begins with each launcher, settings and process."""

    def __init__(self) -> None:
        self.lines: list[Any] = []
        self._recorder = Recorder(self.lines.append)
        self._begun: Any = None

    def record(self, steps: Steps, taking: Taking) -> Steps:
        begun = (taking.launcher, taking.settings)
        if taking.begins or begun != self._begun:
            self._recorder.begin_segment(taking.launcher, taking.settings, taking.memory)
            self._begun = begun
        return self._recorder.record(steps, taking.now)

    def content(self) -> bytes:
        return b"".join(map(encode, self.lines))

    def write(self, file: Path) -> None:
        """Raises OSError."""
        write_atomically(file, self.content())
