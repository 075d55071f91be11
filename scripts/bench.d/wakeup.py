"""The wake-up protocol: its store, a wake-up in a store that has grown, a command's output, a look at all agents."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from bench.budget import Budget, Measured
from bench.measuring import best, paired
from sqlalchemy import event, insert

from strawboss.heartbeat.record import Beat
from strawboss.system.json_files import encode
from strawboss.system.process_identity import ProcessIdentity, identify
from strawboss.wakeup import selection
from strawboss.wakeup.abandoned import host
from strawboss.wakeup.agents import Agent, Registry, load
from strawboss.wakeup.cycle import Rhythm, run_cycle, woken
from strawboss.wakeup.execute import Order, execute
from strawboss.wakeup.inspection import check_all
from strawboss.wakeup.keep_alive import record_file
from strawboss.wakeup.store import available, checkout, cycles, schema, tasks
from strawboss.wakeup.store.checkout import Lease
from strawboss.wakeup.store.database import Database, open_database
from strawboss.wakeup.store.tasks import NewTask

AGENTS = 10_000
CHECKOUTS, AT_A_TIME = 600, 20
AVAILABLE = 5_000
FEW_STORED, MANY_STORED = 1_000, 100_000
SAID_MIB = 256
ROUNDS = 15
TAKEN = "SELECT count(*) FROM tasks WHERE status = 'in_progress'"
Statement = tuple[str, tuple[object, ...]]
BUDGETS = (
    CHECKOUT := Budget(
        "checkout of a task",
        "µs",
        3.0,
        "a connection from the pool, a transaction, and SQLAlchemy's part in each",
        beside="its statements sent raw, µs",
        times=True,
    ),
    CHECK_ALL := Budget(
        f"--check-all over {AGENTS:,} agents", "s", 1.0, "reading and judging each agent's record"
    ),
    SELECTION := Budget(
        f"selection from {AVAILABLE:,} available tasks",
        "ms",
        2.0,
        "the store sorts what is available; 32 of them are read",
        beside="its statements sent raw, ms",
        times=True,
    ),
    STORED := Budget(
        f"a wake-up with {MANY_STORED:,} tasks stored",
        "ms",
        1.15,
        "an index leads to the tasks that have not ended",
        beside=f"with {FEW_STORED:,}, ms",
        times=True,
    ),
    UNBROKEN := Budget(
        f"a command's output without newlines, {SAID_MIB} MiB, on the clock",
        "s",
        3.0,
        "reading it from the pipe; a line that is too long is dropped as it comes",
        beside="cat into cat, s",
        times=True,
    ),
)


def measure() -> list[Measured]:
    return [_checkout(), _check_all(), _selection(), _stored(), _unbroken()]


def _checkout() -> Measured:
    with _home() as directory:
        database = open_database()
        first, *ids = _fill(database, 2 * CHECKOUTS + 1)
        statements = _recorded(lambda other: _take(other, first))
        raw = _raw(directory)
        ours, beside = iter(ids[:CHECKOUTS]), iter(ids[CHECKOUTS:])
        spent, bare = paired(
            lambda: [_take(database, task) for task in islice(ours, AT_A_TIME)],
            lambda: [_take_raw(raw, statements, first, task) for task in islice(beside, AT_A_TIME)],
            CHECKOUTS // AT_A_TIME,
        )
        assert raw.execute(TAKEN).fetchone()[0] == 2 * CHECKOUTS + 1, (
            "the raw statements did not take every task"
        )
        raw.close()
        database.close()
    return CHECKOUT.measured(spent / AT_A_TIME * 1e6, bare / AT_A_TIME * 1e6)


def _fill(database: Database, count: int) -> list[str]:
    with database.write() as connection:
        return [
            tasks.add(connection, NewTask(f"task {number}", "boss"), time.time()) for number in range(count)
        ]


def _take(database: Database, task: str) -> None:
    with database.write() as connection:
        got = checkout.checkout(connection, task, "writer", ["words"], "token", time.time(), 600)
    assert isinstance(got, Lease)


def _raw(directory: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(directory / "store.sqlite", isolation_level=None)
    connection.execute("PRAGMA synchronous=NORMAL")
    return connection


def _take_raw(raw: sqlite3.Connection, statements: list[Statement], recorded: str, task: str) -> None:
    """The very statements that a checkout sends, over one bare connection."""
    raw.execute("BEGIN IMMEDIATE")
    for sql, parameters in statements:
        raw.execute(sql, [task if value == recorded else value for value in parameters])
    raw.execute("COMMIT")


def _recorded(work: Callable[[Database], object]) -> list[Statement]:
    """What it sends by way of SQLAlchemy; BEGIN is the driver's. Over a connection of its own, which listening slows."""
    database = open_database()
    sent: list[Statement] = []

    def note(_: object, __: object, sql: str, parameters: tuple[object, ...], *___: object) -> None:
        sent.append((sql, parameters))

    event.listen(database.engine, "before_cursor_execute", note)
    work(database)
    database.close()
    return sent


def _check_all() -> Measured:
    with _home():
        agents = _agents()
        database = open_database()
        me = identify(os.getpid())
        assert me is not None
        _wake_all(database, agents, me)
        check_all(agents[:1], database, 180.0)
        spent = best(lambda: check_all(agents, database, 180.0), 3)
        database.close()
    return CHECK_ALL.measured(spent)


def _selection() -> Measured:
    with _home() as directory:
        database = open_database()
        _fill(database, AVAILABLE)
        statements, raw = _recorded(_select), _raw(directory)
        spent, bare = paired(lambda: _select(database), lambda: _select_raw(raw, statements), ROUNDS)
        raw.close()
        database.close()
    return SELECTION.measured(spent * 1000, bare * 1000)


def _select(database: Database) -> None:
    with database.write() as connection:
        available.block_worn_out(connection, time.time())
        count, found = available.available(connection, "writer", ["words"], time.time())
    first = selection.ranked(found, {"words": 3}, 50_000, time.time())[0]
    assert (count, first.task.title) == (AVAILABLE, "task 0")


def _select_raw(raw: sqlite3.Connection, statements: list[Statement]) -> None:
    raw.execute("BEGIN IMMEDIATE")
    for sql, parameters in statements:
        raw.execute(sql, parameters).fetchall()
    raw.execute("COMMIT")


def _stored() -> Measured:
    """A whole wake-up that does one task, in a store with many that were done before, beside one with few."""
    with _wake_up_after(FEW_STORED) as few, _wake_up_after(MANY_STORED) as many:
        spent, bare = paired(many, few, ROUNDS)
    return STORED.measured(spent * 1000, bare * 1000)


@contextmanager
def _wake_up_after(stored: int) -> Iterator[Callable[[], None]]:
    with _home() as directory:
        database = open_database()
        _fill_with_the_past(database, stored)
        agent = Agent("writer", command=["true"])
        registry = Registry(Path(os.environ["STRAWBOSS_AGENTS"]), (agent,))

        def wake_up() -> None:
            os.environ["STRAWBOSS_STATE_DIR"] = str(directory)
            _fill(database, 1)
            with woken(agent, registry, database, Rhythm(60.0, 180.0)) as context:
                rows = run_cycle(context, lambda _: None)
            assert [row.status for row in rows] == ["done"] * 10

        wake_up()
        yield wake_up
        database.close()


def _fill_with_the_past(database: Database, count: int) -> None:
    """Tasks that were done, each with what a cycle leaves behind."""
    over = {
        "body": "",
        "status": "complete",
        "priority": 1,
        "complexity": 3,
        "files": "[]",
        "created_by": "boss",
    }
    over |= {"created_at": 1.0, "attempts": 1, "finished_by": "writer", "finished_at": 2.0, "result": "done"}
    event = {"at": 2.0, "agent": "writer", "event": "8. Update: done", "detail": "in_progress → complete"}
    said = {"recipient": "boss", "sender": "writer", "body": "done", "sent_at": 2.0, "read_at": 3.0}
    ids = [f"task-old-{number}" for number in range(count)]
    with database.write() as connection:
        connection.execute(insert(schema.tasks), [{"id": one, "title": one, **over} for one in ids])
        connection.execute(insert(schema.task_needs), [{"task": one, "needs": ids[0]} for one in ids[1:]])
        connection.execute(
            insert(schema.task_capabilities), [{"task": one, "capability": "words"} for one in ids]
        )
        connection.execute(insert(schema.events), [{"task": one, **event} for one in ids])
        connection.execute(insert(schema.messages), [{"task": one, **said} for one in ids])


def _unbroken() -> Measured:
    with _home() as directory:
        said = directory / "said"
        with said.open("wb") as file:
            file.writelines(b"x" * (1 << 20) for _ in range(SAID_MIB))
        log = directory / "o" / "x.log"
        order = Order(("cat", str(said)), {"prompt": ""}, directory, dict(os.environ), log, 600, "cycle-x")
        raw = f"cat {said} | cat > /dev/null"
        spent, bare = paired(
            lambda: _execute(order), lambda: subprocess.run(raw, shell=True, check=True), 5, time.perf_counter
        )
    return UNBROKEN.measured(spent, bare)


def _execute(order: Order) -> None:
    assert execute(order, lambda _: None, lambda _: None).succeeded
    order.output.unlink()


def _agents() -> tuple[Agent, ...]:
    file = Path(os.environ["STRAWBOSS_AGENTS"])
    lines = (f"  - {{name: agent-{number}, command: cat, budget: 50000}}\n" for number in range(AGENTS))
    file.write_text("agents:\n" + "".join(lines))
    return load().agents


def _wake_all(database: Database, agents: tuple[Agent, ...], me: ProcessIdentity) -> None:
    with database.write() as connection:
        for agent in agents:
            cycle = cycles.begin(connection, agent.name, host(), me, None, time.time())
            beat = Beat(agent.slug, "strawboss", "implementing", "at work", extra={"cycle": cycle.id})
            record = record_file(agent)
            record.parent.mkdir(parents=True)
            record.write_bytes(encode(beat.content(datetime.now(UTC))))  # write_json waits for the disk


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
