"""`agent:beat --while PID`: beats for a process that cannot do it itself, and says so when it has ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from strawboss.heartbeat.record import Beat
from strawboss.heartbeat.utc import utc_now
from strawboss.heartbeat.writer import finish_unless_finished, renew
from strawboss.system.process_identity import Liveness, ProcessIdentity, liveness

# How soon the end of the process is noticed, in seconds.
POLL_SECONDS = 0.5


def keep_beating(
    directory: Path,
    beat: Beat,
    process: ProcessIdentity,
    every: float,
    state_at_end: str,
    on_trouble: Callable[[OSError], None],
) -> None:
    """Renew the record each `every` seconds until the process ends or the worker wrote its own terminal record.

    The exit code of another program's child cannot be seen, so `state_at_end` is what its end means to the caller.
    """
    due = time.monotonic() + every
    while (alive := liveness(process)) in (Liveness.SAME, Liveness.UNKNOWN):
        # An unknown process gets no beat in its name, and no terminal record either.
        if alive is Liveness.SAME and time.monotonic() >= due:
            due = time.monotonic() + every
            if not _renewed(directory, beat.agent_id, on_trouble):
                return
        time.sleep(min(POLL_SECONDS, every))
    message = f"process {process.pid} ended without a terminal record of its own"
    ending = replace(beat, phase="terminal", terminal_state=state_at_end, message=message, wait_kind=None)
    finish_unless_finished(directory, ending, utc_now())


def _renewed(directory: Path, agent_id: str, on_trouble: Callable[[OSError], None]) -> bool:
    try:
        return renew(directory, agent_id, utc_now())
    except OSError as error:
        on_trouble(error)
        return True
