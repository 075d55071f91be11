"""What keeps an agent visibly alive while it works: its heartbeat record, its lock and its token count."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection

from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.record import Beat
from strawboss.system.json_files import write_json
from strawboss.wakeup.agents import Agent
from strawboss.wakeup.store import budgets, checkout, tasks
from strawboss.wakeup.store.checkout import Lease
from strawboss.wakeup.store.database import Database
from strawboss.wakeup.store.errors import StoreError
from strawboss.wakeup.store.tasks import Status
from strawboss.wakeup.tokens import Listener


@dataclass(slots=True)
class KeepAlive:
    """Beats every `interval` seconds and holds the lock for `timeout` seconds ahead (spec/3, "Ping").

    Its `watch` is called often; it returns why the work must stop, or None.
    """

    agent: Agent
    cycle: str
    parent: str
    database: Database
    interval: float
    timeout: float
    lease: Lease | None = None
    _next: float = 0.0
    _held_until: float = 0.0
    _counted: int = 0

    def beat(self, phase: str, message: str, *, terminal: str | None = None, waits: bool = False) -> None:
        """Write the heartbeat record now; raises OSError, also when the workspace is not there."""
        self.agent.directory.stat()  # a mistyped workspace must not come into being by this
        extra = {"cycle": self.cycle, "task": self.lease.task if self.lease else None}
        wait_kind = "idle" if waits else None
        beat = Beat(self.agent.slug, self.parent, phase, message, terminal, wait_kind=wait_kind, extra=extra)
        write_json(record_file(self.agent), beat.content(datetime.now(UTC)))
        self._next = time.monotonic() + self.interval

    def hold(self, lease: Lease) -> None:
        """From now on keep this lock."""
        self.lease = lease
        self._held_until = time.monotonic() + self.timeout
        self._counted = 0

    def let_go(self) -> None:
        self.lease = None

    def watch(self, listener: Listener) -> str | None:
        """Count new tokens at once; beat and renew the lock when it is time."""
        if (why := self._count(listener.tokens)) and not listener.finished:
            return why
        if time.monotonic() < self._next:
            return None
        with suppress(OSError):  # a record that cannot be written must not end the work it tells of
            self.beat("implementing", listener.activity or "working")
        return self._renew()

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
        if self.lease is None:
            return None
        try:
            now = self.database.now()
            with self.database.write() as connection:
                ours = checkout.renew(connection, self.lease, now, self.timeout) or self._ended_by_itself(
                    connection
                )
        except StoreError as error:
            # The lock is ours until it runs out, and not a moment longer: another may have the task then.
            gone = time.monotonic() >= self._held_until
            return f"the task store is gone and the lock has run out: {error}" if gone else None
        self._held_until = time.monotonic() + self.timeout
        return None if ours else "the lock was lost: another has the task, or it has ended"

    def _ended_by_itself(self, connection: Connection) -> bool:
        # The agent may say `strawboss task done` or `task block` while it works, and still have things to put away.
        assert self.lease is not None
        task = tasks.find(connection, self.lease.task)
        return task.status in (Status.COMPLETE, Status.BLOCKED) and task.finished_by == self.agent.name


def record_file(agent: Agent) -> Path:
    """Where the agent's heartbeat is: inside its workspace, as spec/2 has it."""
    return Worktree(agent.directory).heartbeat_file(agent.slug)
