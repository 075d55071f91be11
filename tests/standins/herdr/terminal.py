"""A pane's terminal: a real PTY with a real shell, and the text it has shown lately."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import struct
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path

from standins.herdr import processes

ROWS, COLUMNS = 23, 80
KEPT_BYTES = 128 * 1024
KEYS = {
    "enter": "\r",
    "escape": "\x1b",
    "esc": "\x1b",
    "tab": "\t",
    "space": " ",
    "backspace": "\x7f",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "ctrl+c": "\x03",
    "ctrl+d": "\x04",
}
CURSOR_TO_ANOTHER_LINE = re.compile(r"\x1b\[[0-9;]*[ABEFHdf]|\r")
BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")
TITLE = re.compile(rb"\x1b\][02];([^\x07\x1b]*)(?:\x07|\x1b\\)")
CONTROL = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # operating system commands: titles, links
    r"|\x1b[P_^][^\x1b]*\x1b\\"  # strings no screen shows
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor moves, modes
    r"|\x1b[ -/]*[0-~]"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)


class Terminal:
    """`shell` is the pid of what leads the terminal's session: the shell, or `command` where that is given."""

    def __init__(self, cwd: str, environment: Mapping[str, str], command: Sequence[str] = ()) -> None:
        self.master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        started, starting = os.pipe()  # closed by the exec, so that nobody sees the shell before it is one
        self.shell = os.fork()
        if self.shell == 0:
            _become_shell(self.master, slave, cwd, environment, command)
        os.close(slave)
        os.close(starting)
        os.read(started, 1)
        os.close(started)
        os.set_blocking(self.master, False)
        self.title = ""
        self._shown = b""
        self._unsent = b""

    def type(self, text: str) -> None:
        """Without waiting: what the shell does not take now, it is given by `flush`."""
        self._unsent += text.encode()
        self.flush()

    def flush(self) -> None:
        while self._unsent:
            try:
                self._unsent = self._unsent[os.write(self.master, self._unsent) :]
            except OSError:  # full, or the shell has just died, which `read` will find
                return

    def read(self) -> bool:
        """Take what the programs have written; False when the terminal is dead."""
        try:
            data = os.read(self.master, 65536)
        except BlockingIOError:
            return True
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return False
        self._shown = (self._shown + data)[-KEPT_BYTES:]
        if titles := TITLE.findall(self._shown):
            self.title = titles[-1].decode(errors="replace")
        return bool(data)

    def lines(self, count: int) -> list[str]:
        """The last lines as plain text. Where a program moved the cursor up, both versions of a line remain."""
        text = CURSOR_TO_ANOTHER_LINE.sub("\n", self._shown.decode(errors="replace").replace("\r\n", "\n"))
        plain = BLANK_LINES.sub("\n\n", CONTROL.sub("", text)).rstrip()
        return [line.rstrip() for line in plain.split("\n")][-count:]

    def died(self) -> bool:
        """Whether the shell is gone; takes its exit status."""
        try:
            return os.waitpid(self.shell, os.WNOHANG) != (0, 0)
        except ChildProcessError:
            return True

    def close(self) -> None:
        """End everything in the terminal's session."""
        processes.end_session(self.shell)
        os.close(self.master)
        self.died()


def _become_shell(
    master: int, slave: int, cwd: str, environment: Mapping[str, str], command: Sequence[str]
) -> None:
    try:
        os.close(master)
        os.login_tty(slave)
        os.chdir(cwd if Path(cwd).is_dir() else environment.get("HOME") or "/")
        words = list(command) or [environment.get("SHELL") or "/bin/sh"]
        os.execvpe(words[0], words, dict(environment))
    finally:
        os._exit(127)
