"""The wake-up protocol: checkout beside the same statements sent raw, and a look at a thousand agents."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import event

from strawboss.heartbeat.record import Beat
from strawboss.system.json_files import write_json
from strawboss.system.process_identity import ProcessIdentity, identify
from strawboss.wakeup.abandoned import host
from strawboss.wakeup.agents import Agent, load
from strawboss.wakeup.inspection import check_all
from strawboss.wakeup.keep_alive import record_file
from strawboss.wakeup.store import checkout, cycles, tasks
from strawboss.wakeup.store.checkout import Lease
from strawboss.wakeup.store.database import Database, open_database
from strawboss.wakeup.store.tasks import NewTask

CHECKOUTS = 300
AGENTS = 1000
LOOK_BUDGET_SECONDS = 0.5
Statement = tuple[str, tuple[object, ...]]


def measure() -> list[tuple[str, float, float, float]]:
    """(what, our seconds, baseline seconds, budget as a ratio of the two)."""
    return [checkout_beside_raw(), look_at_a_thousand_agents()]


def checkout_beside_raw() -> tuple[str, float, float, float]:
    with _home() as directory:
        database = open_database()
        first, *ids = _fill(database, 2 * CHECKOUTS + 1)
        statements = _statements(database, first)
        ours = _timed(lambda: [_take(database, task) for task in ids[:CHECKOUTS]])
        raw = _timed(lambda: _take_raw(directory / "store.sqlite", statements, first, ids[CHECKOUTS:]))
        database.close()
    return f"{CHECKOUTS} checkouts beside the same statements sent raw", ours, raw, 12.0


def _fill(database: Database, count: int) -> list[str]:
    with database.write() as connection:
        return [
            tasks.add(connection, NewTask(f"task {number}", "boss"), time.time()) for number in range(count)
        ]


def _take(database: Database, task: str) -> None:
    with database.write() as connection:
        got = checkout.checkout(connection, task, "writer", ["words"], "token", time.time(), 600)
    assert isinstance(got, Lease)


def _take_raw(file: Path, statements: list[Statement], recorded: str, ids: list[str]) -> None:
    """The very statements that a checkout sends, over one bare connection."""
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("PRAGMA synchronous=NORMAL")
    for task in ids:
        for sql, parameters in statements:
            connection.execute(sql, [task if value == recorded else value for value in parameters])
        connection.execute("COMMIT")
    taken = connection.execute("SELECT count(*) FROM tasks WHERE status = 'in_progress'").fetchone()[0]
    connection.close()
    assert taken == 2 * len(ids) + 1, "the raw statements did not take every task"


def _statements(database: Database, task: str) -> list[Statement]:
    """What one checkout sends, from BEGIN on."""
    sent: list[Statement] = []

    def note(_: object, __: object, sql: str, parameters: tuple[object, ...], *___: object) -> None:
        sent.append((sql, parameters))

    event.listen(database.engine, "before_cursor_execute", note)
    _take(database, task)
    event.remove(database.engine, "before_cursor_execute", note)
    return [("BEGIN IMMEDIATE", ()), *(one for one in sent if not one[0].startswith("BEGIN"))]


def look_at_a_thousand_agents() -> tuple[str, float, float, float]:
    with _home():
        agents = _thousand_agents()
        database = open_database()
        me = identify(os.getpid())
        assert me is not None
        _wake_all(database, agents, me)
        check_all(agents[:1], database, 180.0)
        ours = _timed(lambda: check_all(agents, database, 180.0))
        database.close()
    return f"--check-all over {AGENTS} agents beside {LOOK_BUDGET_SECONDS} s", ours, LOOK_BUDGET_SECONDS, 1.0


def _thousand_agents() -> tuple[Agent, ...]:
    file = Path(os.environ["STRAWBOSS_AGENTS"])
    lines = (f"  - {{name: agent-{number}, command: cat, budget: 50000}}\n" for number in range(AGENTS))
    file.write_text("agents:\n" + "".join(lines))
    return load().agents


def _wake_all(database: Database, agents: tuple[Agent, ...], me: ProcessIdentity) -> None:
    with database.write() as connection:
        for agent in agents:
            cycle = cycles.begin(connection, agent.name, host(), me, None, time.time())
            beat = Beat(agent.slug, "strawboss", "implementing", "at work", extra={"cycle": cycle.id})
            write_json(record_file(agent), beat.content(datetime.now(UTC)))


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


@contextmanager
def _home() -> Iterator[Path]:
    """A state directory of its own."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as directory:
        os.environ.pop("STRAWBOSS_STORE", None)
        os.environ["STRAWBOSS_STATE_DIR"] = directory
        os.environ["STRAWBOSS_AGENTS"] = f"{directory}/agents.yaml"
        try:
            yield Path(directory)
        finally:
            os.environ.clear()
            os.environ.update(before)


if __name__ == "__main__":
    for what, ours, baseline, budget in measure():
        print(f"{what}: {ours:.3f} s, {baseline:.3f} s, {ours / baseline:.2f} of {budget}")
