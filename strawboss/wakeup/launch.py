"""Starts an agent's wake-up in a process of its own, and says whether that came to be."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from strawboss.system.directories import state_directory
from strawboss.system.files import FILE_MODE, make_private_directory
from strawboss.wakeup.cycle import Rhythm
from strawboss.wakeup.steps import OWN_VARIABLES
from strawboss.wakeup.store import cycles
from strawboss.wakeup.store.database import Database

PROGRAM = "from strawboss.cli.main import main; main()"
START_SECONDS = 20.0
LOOK_SECONDS = 0.05
# Wake-ups outlive the call that started them; a child that nobody asks about stays in the process table when it ends.
_children: list[subprocess.Popen[bytes]] = []


class LaunchError(Exception):
    """The wake-up did not begin; `str()` is one line."""


def launch(agent: str, rhythm: Rhythm, database: Database) -> int:
    """Start `strawboss heartbeat --agent …`, detached, and wait until it has begun. Returns its pid.

    Raises LaunchError, and StoreError when the store cannot be asked.
    """
    process = _start(agent, rhythm)
    _children[:] = [child for child in _children if child.poll() is None] + [process]
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        code = process.poll()
        if code == 0 or _began(agent, process.pid, database):
            return process.pid
        if code is not None:
            raise LaunchError(f"its wake-up ended at once with {code}; see {log_file(agent)}")
        time.sleep(LOOK_SECONDS)
    raise LaunchError(f"its wake-up (pid {process.pid}) did not begin within {START_SECONDS:.0f}s")


def log_file(agent: str) -> Path:
    """What a wake-up started here has to say."""
    return state_directory() / "agents" / f"{agent}.log"


def _start(agent: str, rhythm: Rhythm) -> subprocess.Popen[bytes]:
    make_private_directory(log_file(agent).parent)
    log = os.open(log_file(agent), os.O_WRONLY | os.O_CREAT | os.O_APPEND, FILE_MODE)
    options = ["--agent", agent, "--interval", f"{rhythm.interval}s", "--timeout", f"{rhythm.timeout}s"]
    every = ["--every", f"{rhythm.every}s"] if rhythm.every else []
    try:
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, "heartbeat", *options, *every],
            env={name: value for name, value in os.environ.items() if name not in OWN_VARIABLES},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    finally:
        os.close(log)


def _began(agent: str, pid: int, database: Database) -> bool:
    with database.read() as connection:
        return any(cycle.process.pid == pid for cycle in cycles.unfinished(connection, agent))
