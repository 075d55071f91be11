"""Kills, at moments drawn from a seed, what takes part in a recovery: strawboss, the launcher's pi, herdr.

A moment is counted in what strawboss asks of anybody, not in seconds: the Nth request after the last kill, or a hair
behind it. So the moments fall where something happens, on a fast machine and on a busy one.
"""

from __future__ import annotations

import os
import shlex
import signal
import time
from contextlib import suppress
from pathlib import Path
from random import Random

from e2e.fleet import Child, Fleet, Launcher

STRAWBOSS, PI, HERDR = "strawboss", "pi", "herdr"
REQUESTS = 6  # until the next kill; a recovery from the first look to the last key has some 10 to 30
HAIR_SECONDS = 0.03
END_KEYS = ("nudged", "gaveUp", "lost")  # beside `resumed`
RESTARTS = 3  # that the extension gives a process in one pi


class Killer:
    """`kills`: what it killed and after how many requests, for whoever reads a failure. `strandings`: how often the run is
    stranded, and so handed over.
    """

    def __init__(
        self, fleet: Fleet, launcher: Launcher, child: Child, random: Random, strandings: int
    ) -> None:
        self._fleet, self._launcher, self._child, self._random = fleet, launcher, child, random
        self._strandings = strandings
        self._crashes = 0
        self.kills: list[tuple[str, int]] = []

    @property
    def is_over(self) -> bool:
        handed_over = len(self._launcher.written("resumed")) >= self._strandings
        return handed_over or any(self._launcher.written(key) for key in END_KEYS)

    def strike(self, victim: str) -> None:
        """Wait for the moment and kill; nothing if the run has come to its end before."""
        number = self._random.randint(1, REQUESTS)
        begun = self._requests()
        self._fleet.wait_for(lambda: self.is_over or self._requests() >= begun + number, what="the moment")
        time.sleep(self._random.uniform(0, HAIR_SECONDS))  # the moment itself
        if self.is_over:
            return
        self.kills.append((victim, number))
        self.kill(victim)

    def kill(self, victim: str) -> None:
        """Now. The extension starts a strawboss again three times; after that its pi goes."""
        if victim == HERDR:
            self._kill_herdr()
        elif victim == PI or self._crashes == RESTARTS:
            self._kill_pi()
        else:
            self._crashes += 1
            for pid in self._processes():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _requests(self) -> int:
        """Of the launcher's strawboss, to pi; and of all, to herdr."""
        asked = sum(one["pane"] == self._launcher.pane for one in self._fleet.asked)
        return asked + len(self._fleet.own_requests())

    def _processes(self) -> list[int]:
        """The launcher's strawboss."""
        pids = self._fleet.herdr.leftovers()
        return [pid for pid in pids if _is_strawboss(pid) and _pane_of(pid) == self._launcher.pane]

    def _kill_pi(self) -> None:
        """Of the launcher; the user starts it again."""
        self._crashes = 0
        self._launcher.crash()
        self._fleet.herdr.run(self._launcher.pane, f"pi --session {shlex.quote(str(self._launcher.file))}")

    def _kill_herdr(self) -> None:
        """Without a word, saved or not; it brings the panes back that it had saved."""
        self._crashes = 0
        self._fleet.restart_herdr(kill=True)


def _is_strawboss(pid: int) -> bool:
    with suppress(OSError):
        return b"tapped_process.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def _pane_of(pid: int) -> str:
    with suppress(OSError):
        for word in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if word.startswith(b"HERDR_PANE_ID="):
                return word.partition(b"=")[2].decode()
    return ""
