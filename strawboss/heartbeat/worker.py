"""Heartbeats for Python workers: `with Heartbeat("leaf-7", "run-42") as heart: …`.

A thread renews the record while the worker is busy; leaving the block writes the terminal record, also when the
worker raises. A worker that is killed writes none, and so becomes stale: that is what the monitor looks for.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.places import project_root
from strawboss.heartbeat.record import Beat
from strawboss.heartbeat.utc import utc_now
from strawboss.heartbeat.writer import CADENCE_SECONDS, EndedError, check_cadence, write


class Heartbeat:
    """One worker's heartbeat. `every` is in seconds; `root` the worktree the worker owns, the one it stands in if absent.

    Raises ValueError for what the contract does not allow, OSError when the first or the last record cannot be
    written. A renewal that fails must not stop the work: it is kept in `last_error` and tried again. When somebody else
    wrote the terminal record, that stays, and `last_error` says so.
    """

    def __init__(
        self,
        agent_id: str,
        parent_id: str,
        root: str | Path | None = None,
        *,
        every: float = CADENCE_SECONDS,
        pr_number: int | None = None,
        extra: dict[str, Any] | None = None,
    ) -> None:
        check_cadence(every)
        self.last_error: OSError | EndedError | None = None
        self._beat = Beat(agent_id, parent_id, "starting", "starting", pr_number=pr_number, extra=extra or {})
        self._directory = Worktree(Path(root) if root else project_root(Path.cwd())).status_directory
        self._every = every
        self._ended = ""
        self._turn = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._renew, name=f"heartbeat {agent_id}", daemon=True)

    def __enter__(self) -> Self:
        self._write()
        self._thread.start()
        return self

    def beat(
        self,
        message: str,
        phase: str | None = None,
        *,
        wait_kind: str | None = None,
        head_sha: str | None = None,
    ) -> None:
        """Say what the worker does now; the phase and the head stay when not given, a wait ends when not named."""
        if phase == "terminal":
            raise ValueError(
                "the terminal record is written on leaving the block; name its state with finish()"
            )
        self._write(
            message=message,
            phase=phase or self._beat.phase,
            wait_kind=wait_kind,
            head_sha=head_sha or self._beat.head_sha,
        )

    def finish(self, terminal_state: str, message: str) -> None:
        """Choose the terminal record: CLEAN, ERRORED, TIMEOUT, STALL, FAILED or BLOCKED. Written on leaving."""
        self._ending(terminal_state, message)  # complains now, where the mistake is
        self._ended, self._beat = terminal_state, replace(self._beat, message=message)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
            self._beat = self._ending(self._ended or "CLEAN", self._beat.message)
        else:
            # The kind alone: an exception's text may hold what must not be in a file for others.
            self._beat = self._ending("ERRORED", f"ended by {type(error).__name__}")
        self._write_last(error)

    def _ending(self, state: str, message: str) -> Beat:
        return replace(self._beat, phase="terminal", terminal_state=state, message=message, wait_kind=None)

    def _write_last(self, error: BaseException | None) -> None:
        try:
            self._write()
        except OSError as trouble:
            if error is None:
                raise
            error.add_note(f"and the terminal heartbeat could not be written: {trouble}")

    def _write(self, **changes: Any) -> None:
        with self._turn:
            self._beat = replace(self._beat, **changes)
            try:
                write(self._directory, self._beat, utc_now())
                self.last_error = None
            except EndedError as ended:
                self.last_error = ended

    def _renew(self) -> None:
        while not self._stop.wait(self._every):
            try:
                self._write()
            except OSError as error:
                self.last_error = error
