"""The tables as they are now; `migrations` is how a store of any age gets there. Times are epoch seconds."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, Identity, Integer, MetaData, Table, Text

metadata = MetaData()


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


def _maybe_text(name: str) -> Column[str]:
    return Column(name, Text)


def _time(name: str) -> Column[float]:
    return Column(name, Float(53), nullable=False)


def _maybe_time(name: str) -> Column[float]:
    return Column(name, Float(53))


def _number(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False)


def _serial() -> Column[int]:
    return Column("id", BigInteger().with_variant(Integer, "sqlite"), Identity(), primary_key=True)


tasks = Table(
    "tasks",
    metadata,
    Column("id", Text, primary_key=True),
    _text("title"),
    _text("body"),
    _text("status"),
    _number("priority"),
    _maybe_time("deadline"),
    _number("complexity"),
    _text("files"),  # JSON list of paths, relative to the workspace of the agent
    _maybe_text("parent"),
    _maybe_text("assignee"),
    _text("created_by"),
    _time("created_at"),
    _number("attempts"),
    _maybe_text("lock_holder"),
    _maybe_text("lock_token"),
    _maybe_time("lock_expires_at"),
    _maybe_text("planned_by"),  # the cycle in which this sub-task was identified, until it is delegated
    _maybe_text("result"),
    _maybe_text("reason"),
    _maybe_text("finished_by"),
    _maybe_time("finished_at"),
)

task_needs = Table(
    "task_needs",
    metadata,
    Column("task", Text, primary_key=True),
    Column("needs", Text, primary_key=True),
)

task_capabilities = Table(
    "task_capabilities",
    metadata,
    Column("task", Text, primary_key=True),
    Column("capability", Text, primary_key=True),
)

messages = Table(
    "messages",
    metadata,
    _serial(),
    _text("recipient"),
    _text("sender"),
    _maybe_text("task"),
    _text("body"),
    _time("sent_at"),
    _maybe_time("read_at"),
)

approvals = Table(
    "approvals",
    metadata,
    Column("id", Text, primary_key=True),
    _text("task"),
    _text("question"),
    _text("asked_by"),
    _time("asked_at"),
    _maybe_text("decision"),
    _maybe_text("note"),
    _maybe_text("decided_by"),
    _maybe_time("decided_at"),
    _maybe_time("settled_at"),
)

budgets = Table(
    "budgets",
    metadata,
    Column("agent", Text, primary_key=True),
    _number("used"),
)

cycles = Table(
    "cycles",
    metadata,
    Column("id", Text, primary_key=True),
    _text("agent"),
    _text("host"),
    _number("pid"),
    _time("started"),
    _text("boot"),
    _text("namespace"),
    _text("machine"),
    Column("command_pid", BigInteger),
    _maybe_time("command_started"),
    _maybe_time("every"),
    _time("began_at"),
    _maybe_time("ended_at"),
    _maybe_text("outcome"),
)

events = Table(
    "events",
    metadata,
    _serial(),
    _time("at"),
    _text("agent"),
    _maybe_text("cycle"),
    _text("event"),
    _maybe_text("task"),
    _text("detail"),
)

actions = Table(
    "actions",
    metadata,
    Column("incident", Text, primary_key=True),
    _text("agent"),
    _text("action"),
    _time("claimed_at"),
    _maybe_text("outcome"),
)

# One row an agent: its last wake-up, and that one's last beat. `quiet`: seconds without progress when it was written.
heartbeats = Table(
    "heartbeats",
    metadata,
    Column("agent", Text, primary_key=True),
    _text("cycle"),
    _time("at"),
    _time("quiet"),
    _text("message"),
)

# The lease of each host's monitor; a place is where a pid means something (`cycles.place`).
hosts = Table(
    "hosts",
    metadata,
    Column("place", Text, primary_key=True),
    _text("host"),
    _time("watched_until"),
)

# How far the store's time is ahead of the boot clock, by boot; on SQLite only (`clock`).
clocks = Table(
    "clocks",
    metadata,
    Column("boot", Text, primary_key=True),
    _time("ahead"),
)
