"""How a store of any age becomes one of today: numbered steps, each run once, each whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, text

from strawboss.wakeup.store.engines import kind_of
from strawboss.wakeup.store.errors import StoreError

# `{serial}`: how the engine declares a column that numbers its rows.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (  # 1: tasks with their locks, messages, approvals, budgets, cycles, events
        """CREATE TABLE tasks (
            id TEXT PRIMARY KEY, title TEXT NOT NULL, body TEXT NOT NULL, status TEXT NOT NULL,
            priority BIGINT NOT NULL, deadline DOUBLE PRECISION, complexity BIGINT NOT NULL, files TEXT NOT NULL,
            parent TEXT, assignee TEXT, created_by TEXT NOT NULL, created_at DOUBLE PRECISION NOT NULL,
            lock_holder TEXT, lock_token TEXT, lock_expires_at DOUBLE PRECISION, planned_by TEXT,
            result TEXT, reason TEXT, finished_by TEXT, finished_at DOUBLE PRECISION)""",
        "CREATE INDEX tasks_by_status ON tasks (status, priority)",
        "CREATE INDEX tasks_by_parent ON tasks (parent)",
        "CREATE TABLE task_needs (task TEXT NOT NULL, needs TEXT NOT NULL, PRIMARY KEY (task, needs))",
        "CREATE TABLE task_capabilities (task TEXT NOT NULL, capability TEXT NOT NULL, PRIMARY KEY (task, capability))",
        """CREATE TABLE messages (
            id {serial}, recipient TEXT NOT NULL, sender TEXT NOT NULL, task TEXT, body TEXT NOT NULL,
            sent_at DOUBLE PRECISION NOT NULL, read_at DOUBLE PRECISION)""",
        "CREATE INDEX messages_by_recipient ON messages (recipient, read_at)",
        """CREATE TABLE approvals (
            id TEXT PRIMARY KEY, task TEXT NOT NULL, question TEXT NOT NULL, asked_by TEXT NOT NULL,
            asked_at DOUBLE PRECISION NOT NULL, decision TEXT, note TEXT, decided_by TEXT,
            decided_at DOUBLE PRECISION, settled_at DOUBLE PRECISION)""",
        "CREATE INDEX approvals_by_task ON approvals (task)",
        "CREATE TABLE budgets (agent TEXT PRIMARY KEY, used BIGINT NOT NULL)",
        """CREATE TABLE cycles (
            id TEXT PRIMARY KEY, agent TEXT NOT NULL, host TEXT NOT NULL, pid BIGINT NOT NULL,
            started DOUBLE PRECISION NOT NULL, boot TEXT NOT NULL, command_pid BIGINT,
            command_started DOUBLE PRECISION, every DOUBLE PRECISION, began_at DOUBLE PRECISION NOT NULL,
            ended_at DOUBLE PRECISION, outcome TEXT)""",
        "CREATE INDEX cycles_by_agent ON cycles (agent, began_at)",
        """CREATE TABLE events (
            id {serial}, at DOUBLE PRECISION NOT NULL, agent TEXT NOT NULL, cycle TEXT, event TEXT NOT NULL,
            task TEXT, detail TEXT NOT NULL)""",
        "CREATE INDEX events_by_agent ON events (agent)",
    ),
    (  # 2: a task that ends every cycle that takes it is not handed out for ever
        "ALTER TABLE tasks ADD COLUMN attempts BIGINT NOT NULL DEFAULT 0",
    ),
    (  # 3: the journal of stall actions, one row per incident
        """CREATE TABLE actions (
            incident TEXT PRIMARY KEY, agent TEXT NOT NULL, action TEXT NOT NULL,
            claimed_at DOUBLE PRECISION NOT NULL, outcome TEXT)""",
        "CREATE INDEX actions_by_agent ON actions (agent, claimed_at)",
    ),
    (  # 4: agents on many machines: where a pid means anything, heartbeats that all see, who watches which host
        "ALTER TABLE cycles ADD COLUMN namespace TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE cycles ADD COLUMN machine TEXT NOT NULL DEFAULT ''",
        """CREATE TABLE heartbeats (
            agent TEXT PRIMARY KEY, cycle TEXT NOT NULL, at DOUBLE PRECISION NOT NULL,
            quiet DOUBLE PRECISION NOT NULL, message TEXT NOT NULL)""",
        """INSERT INTO heartbeats (agent, cycle, at, quiet, message)
            SELECT agent, id, began_at, 0, '' FROM cycles WHERE NOT EXISTS (
                SELECT 1 FROM cycles AS later WHERE later.agent = cycles.agent
                AND (later.began_at > cycles.began_at OR (later.began_at = cycles.began_at AND later.id > cycles.id)))""",
        "CREATE TABLE hosts (place TEXT PRIMARY KEY, host TEXT NOT NULL, watched_until DOUBLE PRECISION NOT NULL)",
        "CREATE TABLE clocks (boot TEXT PRIMARY KEY, ahead DOUBLE PRECISION NOT NULL)",
        "CREATE INDEX events_by_time ON events (at)",
    ),
)


def migrate(connection: Connection, steps: Sequence[tuple[str, ...]] = MIGRATIONS) -> None:
    """Take the steps that this store has not taken yet, inside the caller's transaction.

    Raises StoreError when the store is newer than this program: writing to it could break it.
    """
    kind = kind_of(connection)
    kind.begin_migration(connection)
    connection.execute(text("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)"))
    current = version(connection)
    if current > len(steps):
        raise StoreError(
            f"it has version {current} and this strawboss knows {len(steps)}: install a newer one"
        )
    for number, statements in enumerate(steps[current:], start=current + 1):
        for statement in statements:
            connection.execute(text(statement.format(serial=kind.SERIAL)))
        connection.execute(
            text("INSERT INTO schema_version (version) VALUES (:version)"), {"version": number}
        )


def version(connection: Connection) -> int:
    """The number of the last step taken, 0 for an empty store."""
    return int(connection.execute(text("SELECT COALESCE(MAX(version), 0) FROM schema_version")).scalar_one())
