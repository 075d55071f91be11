"""What keeps an agent visibly alive while it works: its heartbeats, its lock and its token count."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection

from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.record import Beat, one_line
from strawboss.system.directories import state_directory
from strawboss.system.json_files import read_object, write_json
from strawboss.system.process_identity import ProcessIdentity
from strawboss.wakeup.agents import Agent
from strawboss.wakeup.processes import cpu_seconds
from strawboss.wakeup.progress import Progress
from strawboss.wakeup.store import budgets, checkout, cycles, heartbeats, tasks
from strawboss.wakeup.store.checkout import Lease
from strawboss.wakeup.store.database import Database
from strawboss.wakeup.store.errors import StoreError
from strawboss.wakeup.store.tasks import Status
from strawboss.wakeup.tokens import Listener

SUPERSEDED = "this wake-up was ended by another"


@dataclass(slots=True)
class KeepAlive:
    """Beats every `interval` seconds and holds the lock for `timeout` seconds ahead.

    A beat goes into the record file and into the store. It says how long the command has shown no progress: that we
    beat for it proves nothing about it. `watch` is called often; it returns why the work must stop, or None.
    """

    agent: Agent
    cycle: str
    parent: str
    database: Database
    interval: float
    timeout: float
    lease: Lease | None = None
    command: ProcessIdentity | None = None
    message: str = ""
    _progress: Progress | None = None
    _next: float = 0.0
    _held_until: float = 0.0
    _away: str = ""  # why the last renewal failed
    _counted: int = 0
    _written: tuple[int, int] | None = field(default=None)

    def beat(self, phase: str, message: str, *, terminal: str | None = None, waits: bool = False) -> None:
        """Beat now. Raises OSError when the record cannot be written, also when the workspace is not there."""
        self.message = message
        with suppress(StoreError), self.database.write() as connection:
            self.tell(connection)
        self.record(phase, message, terminal=terminal, waits=waits)

    def tell(self, connection: Connection) -> None:
        """The beat in the store, in the caller's transaction."""
        words = one_line(self.message)
        heartbeats.beat(connection, self.agent.name, self.cycle, words, self.quiet, self.database.now())

    def record(self, phase: str, message: str, *, terminal: str | None = None, waits: bool = False) -> None:
        """The beat in the file. Raises OSError."""
        self.message = message
        self._next = time.monotonic() + self.interval
        self.agent.directory.stat()  # a mistyped workspace must not come into being by this
        task = self.lease.task if self.lease else None
        extra = {"cycle": self.cycle, "task": task, "quiet": round(self.quiet, 1)}
        wait_kind = "idle" if waits else None
        words = one_line(message)
        beat = Beat(self.agent.slug, self.parent, phase, words, terminal, wait_kind=wait_kind, extra=extra)
        write_json(record_file(self.agent), beat.content(datetime.now(UTC)))
        self._written = _version(record_file(self.agent))

    @property
    def until_due(self) -> float:
        """Seconds until the next beat is due."""
        return max(0.0, self._next - time.monotonic())

    @property
    def quiet(self) -> float:
        """Seconds without progress of the command that runs now, if it is one from which progress is expected."""
        return 0.0 if self._progress is None or self.agent.quiet_ok else self._progress.quiet

    def hold(self, lease: Lease) -> None:
        """From now on keep this lock."""
        self.lease = lease
        self._held_until, self._away = time.monotonic() + self.timeout, ""
        self._counted = 0

    def attend(self, command: ProcessIdentity | None) -> None:
        """From now on the command is this process; None: it has ended."""
        self.command = command
        self._progress = Progress() if command else None

    def let_go(self) -> None:
        self.lease = None
        self.attend(None)

    def watch(self, listener: Listener) -> str | None:
        """Count new tokens at once; beat and renew the lock when it is time."""
        if (why := self._count(listener.tokens)) and not listener.finished:
            return why
        if self._progress:
            self._progress.hear(listener.heard)
        if why := self._out_of_time():
            return why
        if time.monotonic() < self._next:
            return None
        self._look_for_progress()
        with suppress(OSError):  # a record that cannot be written must not end the work it tells of
            self.record("implementing", listener.activity or self.message or "working")
        return self._renew()

    def _look_for_progress(self) -> None:
        if self._progress is None or self.command is None or self.agent.quiet_ok:
            return
        self._progress.measure(cpu_seconds([self.command], self.cycle))
        now = _version(record_file(self.agent))
        if self._written and now and now != self._written:  # the agent beats itself
            self._progress.see()
            self.message = self._own_words() or self.message

    def _own_words(self) -> str:
        content = read_object(record_file(self.agent))
        words = content.get("last_message") if isinstance(content, dict) else None
        return words if isinstance(words, str) else ""

    def _count(self, tokens: int) -> str | None:
        new = tokens - self._counted
        if new == 0:
            return None
        try:
            with self.database.write() as connection:
                used = budgets.spend(connection, self.agent.name, new)
        except StoreError:
            return None  # counted with the next ones
        self._counted = tokens
        limit = self.agent.budget
        if limit is not None and used >= limit:
            return f"the budget of {self.agent.name} ran out ({used:,}/{limit:,} tokens)"
        return None

    def _renew(self) -> str | None:
        began = time.monotonic()
        try:
            now = self.database.now()
            with self.database.write() as connection:
                complaint = self._renewed(connection, now)
        except StoreError as error:
            self._away = str(error)
            return self._out_of_time()
        self._held_until, self._away = began + self.timeout, ""
        return complaint

    def _out_of_time(self) -> str | None:
        # The lock is ours until it runs out, and not a moment longer: another may have the task then.
        if not self._away or self.lease is None or time.monotonic() < self._held_until:
            return None
        return f"the task store is gone and the lock has run out: {self._away}"

    def _renewed(self, connection: Connection, now: float) -> str | None:
        if not cycles.is_open(connection, self.cycle):
            return SUPERSEDED
        self.tell(connection)
        if self.lease is None or checkout.renew(connection, self.lease, now, self.timeout):
            return None
        ours = self._ended_by_itself(connection)
        return None if ours else "the lock was lost: another has the task, or it has ended"

    def _ended_by_itself(self, connection: Connection) -> bool:
        # The agent may say `strawboss task done` or `task block` while it works, and still have things to put away.
        assert self.lease is not None
        task = tasks.find(connection, self.lease.task)
        return task.status in (Status.COMPLETE, Status.BLOCKED) and task.finished_by == self.agent.name


def record_file(agent: Agent) -> Path:
    """Where the agent's heartbeat is: inside its workspace (docs/heartbeat.md#the-record), unless it may not write there."""
    own = agent.scope == "read-only"
    return Worktree(state_directory() / "agents" / agent.slug if own else agent.directory).heartbeat_file(
        agent.slug
    )


def _version(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
