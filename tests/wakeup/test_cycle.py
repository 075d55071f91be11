from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from strawboss.system.json_files import read_object
from strawboss.system.process_identity import identify
from strawboss.wakeup import cycle as module
from strawboss.wakeup.abandoned import StillRunningError, host
from strawboss.wakeup.agents import Agent, Registry
from strawboss.wakeup.cycle import STEPS, Rhythm, Row, run_cycle, woken
from strawboss.wakeup.keep_alive import record_file
from strawboss.wakeup.step import Outcome, Turn
from strawboss.wakeup.store import cycles, events, inbox, tasks
from strawboss.wakeup.store.database import Database, open_database
from strawboss.wakeup.store.errors import StoreError
from strawboss.wakeup.store.tasks import NewTask, Status

RHYTHM = Rhythm(interval=1.0, timeout=30.0)
SAYS_DONE = Agent("writer", title="Author", command=[sys.executable, "-c", "print('done')"])


def add(database: Database, title: str = "a task", **wishes: object) -> str:
    with database.write() as connection:
        return tasks.add(connection, NewTask(title, "boss", **wishes), database.now())  # type: ignore[arg-type]


def nothing(_: Row) -> None:
    return None


def wake(
    agent: Agent, registry: Registry, database: Database, show: Callable[[Row], None] = nothing
) -> list[Row]:
    with woken(agent, registry, database, RHYTHM) as context:
        return run_cycle(context, show)


def history(database: Database) -> list[str]:
    with database.read() as connection:
        return [event.event for event in events.history(connection, 1000)]


def test_the_steps_are_these_nine() -> None:
    assert [step.label for step in STEPS] == [
        "1. Identity", "2. Approvals", "3. Fetch tasks", "4. Select work", "5. Checkout", "6. Understand",
        "7. Execute", "8. Update", "9. Delegate",
    ]  # fmt: skip


def test_a_cycle_does_all_the_work_there_is_and_writes_an_event_before_and_after_each_step(
    database: Database, enlist: Callable[..., Registry]
) -> None:
    first, second = add(database, "first"), add(database, "second")
    rows = wake(SAYS_DONE, enlist(SAYS_DONE), database)
    numbers = [int(row.step[0]) for row in rows]
    assert numbers == [1, 2, 3, 4, 5, 6, 7, 8, 9, 3, 4, 5, 6, 7, 8, 9, 3]
    assert {row.status for row in rows} == {"done"}
    with database.read() as connection:
        assert [tasks.find(connection, one).result for one in (first, second)] == ["done", "done"]
    written = history(database)
    assert written[0] == "cycle began"
    assert written[-1] == "cycle ended"
    steps = written[1:-1]
    assert [event.removesuffix(": began") for event in steps[::2]] == [row.step for row in rows]
    assert steps[1::2] == [f"{row.step}: done" for row in rows]


def test_every_step_is_shown_running_and_then_ended(light: Database, enlist: Callable[..., Registry]) -> None:
    shown: list[Row] = []
    rows = wake(SAYS_DONE, enlist(SAYS_DONE), light, shown.append)
    assert shown[::2] == [Row(row.step, "running", "...") for row in rows]
    assert shown[1::2] == rows


def test_the_last_heartbeat_of_a_cycle_is_terminal_and_clean(
    light: Database, enlist: Callable[..., Registry]
) -> None:
    wake(SAYS_DONE, enlist(SAYS_DONE), light)
    record = read_object(record_file(SAYS_DONE))
    assert isinstance(record, dict)
    assert (record["agent_id"], record["phase"], record["terminal_state"]) == (
        "agent-writer",
        "terminal",
        "CLEAN",
    )


def test_a_cycle_that_is_interrupted_gives_its_task_back_and_says_so(
    light: Database, enlist: Callable[..., Registry]
) -> None:
    task = add(light)

    def show(row: Row) -> None:
        if row.step == "6. Understand":
            raise KeyboardInterrupt

    registry = enlist(SAYS_DONE)
    with pytest.raises(KeyboardInterrupt):
        wake(SAYS_DONE, registry, light, show)
    with light.read() as connection:
        found = tasks.find(connection, task)
        assert (found.status, found.attempts) == (Status.OPEN, 0)  # stopped by a person: no attempt
        assert cycles.unfinished(connection, "writer") == []
    record = read_object(record_file(SAYS_DONE))
    assert isinstance(record, dict)
    assert record["terminal_state"] == "ERRORED"


MOMENTS = [(step.label, status) for step, status in itertools.product(STEPS, ("running", "done"))]


@pytest.mark.parametrize(("label", "status"), MOMENTS, ids=[f"{label} {status}" for label, status in MOMENTS])
def test_a_cycle_killed_at_any_step_is_found_and_the_next_one_goes_on(
    store_url: str, label: str, status: str, database: Database, enlist: Callable[..., Registry]
) -> None:
    registry, task = enlist(SAYS_DONE), add(database)
    child = os.fork()
    if child == 0:
        _die_at(label, status, registry, store_url)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    with database.read() as connection:
        stranded = cycles.unfinished(connection, "writer")
    assert [cycle.process.pid for cycle in stranded] == [child]
    wake(SAYS_DONE, registry, database)
    with database.read() as connection:
        found = tasks.find(connection, task)
        assert cycles.unfinished(connection, "writer") == []
        ends = [event for event in events.history(connection, 1000) if event.event == "cycle ended"]
    assert (found.status, found.result, found.lock_holder) == (Status.COMPLETE, "done", None)
    assert [end.detail.split(";")[0] for end in ends] == ["abandoned", "ended"]
    free_before = (label, status) in MOMENTS[: MOMENTS.index(("5. Checkout", "done"))]
    stored_before = (label, status) in MOMENTS[MOMENTS.index(("8. Update", "done")) :]
    assert found.attempts == (1 if free_before or stored_before else 2)


def _die_at(label: str, status: str, registry: Registry, store_url: str) -> None:
    def show(row: Row) -> None:
        if (row.step, row.status) == (label, status):
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        wake(SAYS_DONE, registry, open_database(store_url), show)
    finally:
        os._exit(1)


def test_an_agent_that_is_awake_is_not_woken_twice(light: Database, enlist: Callable[..., Registry]) -> None:
    registry = enlist(SAYS_DONE)
    with (
        woken(SAYS_DONE, registry, light, RHYTHM),
        pytest.raises(StillRunningError, match="writer runs already"),
    ):
        wake(SAYS_DONE, registry, light)


def test_an_agent_that_runs_from_another_state_directory_is_not_woken_twice(
    light: Database, enlist: Callable[..., Registry]
) -> None:
    me = identify(os.getpid())
    assert me is not None
    with light.write() as connection:
        cycles.begin(connection, "writer", host(), me, None, light.now())
    registry = enlist(SAYS_DONE)
    with pytest.raises(StillRunningError, match=f"writer runs already .pid {os.getpid()}"):
        wake(SAYS_DONE, registry, light)


def test_a_conflict_leads_back_to_step_4_and_the_next_candidate(
    light: Database, enlist: Callable[..., Registry]
) -> None:
    taken, free = add(light, "taken", priority=tasks.Priority.HIGH), add(light, "free")

    def show(row: Row) -> None:
        if row.step == "4. Select work" and row.status == "done" and taken in row.detail:
            from strawboss.wakeup.store import checkout

            with light.write() as connection:
                checkout.checkout(connection, taken, "other", [], "token", light.now(), 600)

    rows = wake(SAYS_DONE, enlist(SAYS_DONE), light, show)
    assert [row.step[0] for row in rows[:7]] == ["1", "2", "3", "4", "5", "4", "5"]
    assert (rows[4].status, rows[4].detail[:24]) == ("conflict", "409: it is locked by oth")
    with light.read() as connection:
        assert tasks.find(connection, free).status is Status.COMPLETE


def test_a_step_may_end_the_cycle(light: Database, enlist: Callable[..., Registry]) -> None:
    homeless = Agent("writer", workspace="/no/such/place", command=["cat"])
    rows = wake(homeless, enlist(homeless), light)
    assert [(row.step, row.status) for row in rows] == [("1. Identity", "failed")]
    assert not Path("/no/such/place").exists()


def test_a_store_that_goes_away_in_the_middle_ends_the_cycle_and_leaves_it_to_be_found(
    light: Database, home: Path, enlist: Callable[..., Registry]
) -> None:
    task, file = add(light), home / "state" / "store.sqlite"

    def show(row: Row) -> None:
        if (row.step, row.status) == ("6. Understand", "done"):
            file.rename(home / "away")

    registry = enlist(SAYS_DONE)
    with pytest.raises(StoreError):
        wake(SAYS_DONE, registry, light, show)
    (home / "away").rename(file)
    with light.read() as connection:
        assert tasks.find(connection, task).status is Status.IN_PROGRESS
        assert len(cycles.unfinished(connection, "writer")) == 1


def test_between_two_cycles_an_agent_beats_and_waits(
    light: Database, enlist: Callable[..., Registry], monkeypatch: pytest.MonkeyPatch
) -> None:
    with woken(SAYS_DONE, enlist(SAYS_DONE), light, RHYTHM) as context:
        module.wait_for_work(context, 0.01)
        record = read_object(record_file(SAYS_DONE))
    assert isinstance(record, dict)
    assert (record["phase"], record["wait_kind"]) == ("polling", "idle")


def test_a_store_that_was_away_is_a_reason_to_look_as_soon_as_it_is_back(
    light: Database, home: Path, enlist: Callable[..., Registry], monkeypatch: pytest.MonkeyPatch
) -> None:
    task, file = add(light), home / "state" / "store.sqlite"
    away = home / "away"

    def show(row: Row) -> None:
        if (row.step, row.status) == ("6. Understand", "done"):
            file.rename(away)

    def come_back(_: float) -> None:
        if away.exists():
            away.rename(file)

    with woken(SAYS_DONE, enlist(SAYS_DONE), light, RHYTHM) as context:
        with pytest.raises(StoreError):
            run_cycle(context, show)
        monkeypatch.setattr(module.time, "sleep", come_back)
        module.wait_for_work(context, 600.0)
        # What it had in hand it gives back, which was no attempt, and takes again.
        rows = run_cycle(context, nothing)
    assert [row.step[0] for row in rows] == [*"123456789", "3"]
    with light.read() as connection:
        found = tasks.find(connection, task)
    assert (found.status, found.attempts) == (Status.COMPLETE, 1)


def test_a_store_that_stays_away_is_asked_again_and_again_and_the_agent_beats(
    light: Database, home: Path, enlist: Callable[..., Registry], monkeypatch: pytest.MonkeyPatch
) -> None:
    with woken(SAYS_DONE, enlist(SAYS_DONE), light, Rhythm(0.01, 30.0)) as context:
        (home / "state" / "store.sqlite").rename(home / "away")
        module.wait_for_work(context, 0.1)
        (home / "away").rename(home / "state" / "store.sqlite")
        record = read_object(record_file(SAYS_DONE))
    assert isinstance(record, dict)
    assert record["phase"] == "polling"


def test_what_the_last_cycle_has_seen_is_no_news_and_what_came_since_is(
    database: Database, enlist: Callable[..., Registry]
) -> None:
    too_hard = frozenset({"python"})
    with woken(SAYS_DONE, enlist(SAYS_DONE), database, RHYTHM) as context:
        run_cycle(context, nothing)
        assert not module.has_news(context)
        add(database, capabilities=too_hard)
        assert not module.has_news(context)
        add(database)
        assert module.has_news(context)
        run_cycle(context, nothing)
        assert not module.has_news(context)
        with database.write() as connection:
            inbox.send(connection, "writer", "boss", "hello", database.now())
        assert module.has_news(context)
        run_cycle(context, nothing)
        assert not module.has_news(context)


def test_an_agent_that_can_never_work_is_not_woken_again_and_again(
    light: Database, enlist: Callable[..., Registry]
) -> None:
    unable = Agent("writer", command=["no-such-program"])
    add(light)
    with woken(unable, enlist(unable), light, RHYTHM) as context:
        assert run_cycle(context, nothing)[0].status == "failed"
        assert not module.has_news(context)
        assert not module.has_news(context)


@pytest.mark.slow
def test_a_task_or_a_message_wakes_a_resident_agent_within_a_second(
    database: Database, enlist: Callable[..., Registry], until: Callable[..., object]
) -> None:
    enlist(SAYS_DONE)
    program = "from strawboss.cli.main import main; main()"
    options = ["heartbeat", "--agent", "writer", "--interval", "30s", "--every", "600s"]
    process = subprocess.Popen([sys.executable, "-c", program, *options], stdout=subprocess.DEVNULL)

    def cycles_so_far() -> int:
        return history(database).count("3. Fetch tasks: began")

    def is_idle() -> bool:
        record = read_object(record_file(SAYS_DONE))
        return isinstance(record, dict) and record["phase"] == "polling"

    def wakes(give: Callable[[], object]) -> float:
        """Seconds until the agent has begun to look."""
        until(is_idle, "the agent to wait")
        before, began = cycles_so_far(), time.monotonic()
        give()
        until(lambda: cycles_so_far() > before, "the agent to look")
        return time.monotonic() - began

    def message() -> None:
        with database.write() as connection:
            inbox.send(connection, "writer", "boss", "hello", database.now())

    try:
        # The best of a few: how long it takes otherwise says how busy the machine is.
        for give in (lambda: add(database), message):
            assert any(wakes(give) < 1.0 for _ in range(5))
    finally:
        process.terminate()
        process.wait()


def test_where_a_turn_leads() -> None:
    assert [STEPS[module.GOES_TO[turn]].number for turn in (Turn.FETCH, Turn.SELECT)] == [3, 4]
    assert module.GOES_TO[Turn.END] == len(STEPS)
    assert Outcome("done", "").turn is Turn.NEXT
