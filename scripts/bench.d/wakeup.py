"""The wake-up protocol: checkout and selection beside the same statements sent raw, a wake-up beside a store that has
grown, and a look at a thousand agents."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import event, insert

from strawboss.heartbeat.record import Beat
from strawboss.system.json_files import write_json
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

CHECKOUTS = 300
AVAILABLE = 5_000
STORED = (1_000, 100_000)
REPEATS = 7
SAID_MIB = 512
AGENTS = 1000
LOOK_BUDGET_SECONDS = 0.5
Statement = tuple[str, tuple[object, ...]]


def measure() -> list[tuple[str, float, float, float]]:
    """(what, our seconds, baseline seconds, budget as a ratio of the two)."""
    return [
        checkout_beside_raw(),
        selection_beside_raw(),
        wake_up_in_a_large_store(),
        output_without_newlines(),
        look_at_a_thousand_agents(),
    ]


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
    return [("BEGIN IMMEDIATE", ()), *_recorded(database, lambda: _take(database, task))]


def _recorded(database: Database, work: Callable[[], object]) -> list[Statement]:
    sent: list[Statement] = []

    def note(_: object, __: object, sql: str, parameters: tuple[object, ...], *___: object) -> None:
        sent.append((sql, parameters))

    event.listen(database.engine, "before_cursor_execute", note)
    work()
    event.remove(database.engine, "before_cursor_execute", note)
    return [one for one in sent if not one[0].startswith("BEGIN")]


def selection_beside_raw() -> tuple[str, float, float, float]:
    """Steps 3 and 4, from the question to the best task, beside that question over one bare connection."""
    with _home() as directory:
        database = open_database()
        _fill(database, AVAILABLE)
        asked = _recorded(database, lambda: _select(database))
        sql, parameters = next(one for one in asked if "OVER" in one[0])
        connection = sqlite3.connect(directory / "store.sqlite", isolation_level=None)
        ours = _best(lambda: _select(database))
        raw = _best(lambda: connection.execute(sql, parameters).fetchall())
        connection.close()
        database.close()
    return f"a selection over {AVAILABLE:,} available tasks beside its statement sent raw", ours, raw, 2.0


def _select(database: Database) -> None:
    with database.write() as connection:
        available.block_worn_out(connection, time.time())
        count, found = available.available(connection, "writer", ["words"], time.time())
    best = selection.ranked(found, {"words": 3}, 50_000, time.time())[0]
    assert (count, best.task.title) == (AVAILABLE, "task 0")


def wake_up_in_a_large_store() -> tuple[str, float, float, float]:
    """A whole wake-up that does one task, in a store with many that were done before, beside one with few."""
    few, many = map(_wake_up_after, STORED)
    what = f"a wake-up with {STORED[1]:,} tasks stored beside one with {STORED[0]:,}"
    return what, many, few, 1.5


def _wake_up_after(stored: int) -> float:
    with _home():
        database = open_database()
        _fill_with_the_past(database, stored)
        agent = Agent("writer", command=["true"])
        registry = Registry(Path(os.environ["STRAWBOSS_AGENTS"]), (agent,))

        def wake_up() -> None:
            _fill(database, 1)
            with woken(agent, registry, database, Rhythm(60.0, 180.0)) as context:
                rows = run_cycle(context, lambda _: None)
            assert [row.status for row in rows] == ["done"] * 10

        wake_up()
        taken = _best(wake_up)
        database.close()
    return taken


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


def output_without_newlines() -> tuple[str, float, float, float]:
    """A command that says very much in one line, beside what `cat` takes to carry that through a pipe."""
    with _home() as directory:
        said = directory / "said"
        with said.open("wb") as file:
            file.writelines(b"x" * (1 << 20) for _ in range(SAID_MIB))
        order = Order(
            ("cat", str(said)),
            {"prompt": ""},
            directory,
            dict(os.environ),
            directory / "o" / "x.log",
            600,
            "cycle-x",
        )

        def ours() -> None:
            assert execute(order, lambda _: None, lambda _: None).succeeded
            order.output.unlink()

        raw = f"cat {said} | cat > /dev/null"
        times = _best(ours), _best(lambda: subprocess.run(raw, shell=True, check=True))
    return f"{SAID_MIB} MiB of output without a newline beside cat", *times, 3.0


def _best(work: Callable[[], object]) -> float:
    return min(_timed(work) for _ in range(REPEATS))


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
