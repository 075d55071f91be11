from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from strawboss.system.process_identity import Place
from strawboss.wakeup import steps
from strawboss.wakeup.agents import Agent, Registry
from strawboss.wakeup.cycle import Rhythm, woken
from strawboss.wakeup.execute import Ended, Execution
from strawboss.wakeup.step import Context, Turn
from strawboss.wakeup.store import approvals, budgets, cycles, inbox, tasks
from strawboss.wakeup.store.approvals import Decision
from strawboss.wakeup.store.database import Database
from strawboss.wakeup.store.tasks import NewTask, Status, Task

WRITER = Agent(
    "writer",
    title="Author",
    capabilities=["words"],
    command=[sys.executable, "-c", "print('done')"],
    budget=100,
)
DONE = Execution(Ended.EXITED, "", "the result", 7)


@pytest.fixture
def context(light: Database, enlist: Callable[..., Registry]) -> Iterator[Context]:
    with woken(WRITER, enlist(WRITER), light, Rhythm(1.0, 30.0)) as context:
        yield context


def add(context: Context, title: str = "a task", **wishes: object) -> str:
    wishes.setdefault("created_by", "boss")
    with context.database.write() as connection:
        return tasks.add(connection, NewTask(title, **wishes), context.database.now())  # type: ignore[arg-type]


def found(context: Context, task: str) -> Task:
    with context.database.read() as connection:
        return tasks.find(connection, task)


def taken(context: Context, **wishes: object) -> str:
    """A task up to and including step 6."""
    task = add(context, **wishes)
    for step in (steps.fetch, steps.select, steps.take, steps.understand):
        assert step(context).status == "done"
    return task


def sent(context: Context, to: str) -> list[str]:
    with context.database.read() as connection:
        return [message.body for message in inbox.inbox(connection, to)]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"workspace": "/no/such/place"}, "is not a directory"),
        ({"command": []}, "it has no command"),
        ({"command": ["no-such-program"]}, "'no-such-program' is not to be found"),
        ({"command": ["./no-such-script"]}, "'./no-such-script' is not to be found"),
    ],
)
def test_an_agent_that_cannot_work_is_told_why(
    context: Context, change: dict[str, object], complaint: str
) -> None:
    context.agent = msgspec.structs.replace(context.agent, **change)
    outcome = steps.identity(context)
    assert (outcome.status, outcome.turn) == ("failed", Turn.END)
    assert complaint in outcome.detail


def test_a_workspace_must_be_open_to_the_agents_scope(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)
    assert "is not open to it (read-write)" in steps.identity(context).detail
    context.agent = msgspec.structs.replace(context.agent, scope="read-only", command=[sys.executable])
    monkeypatch.setattr(steps.shutil, "which", lambda program: program)
    assert steps.identity(context).detail == "writer / Author / scope: read-only"


def test_decisions_are_settled_before_new_work_and_its_own_that_wait_are_counted(context: Context) -> None:
    assert steps.settle_approvals(context).detail == "0 pending"
    first, second, foreign = add(context, assignee="writer"), add(context), add(context)
    with context.database.write() as connection:
        request = approvals.ask(connection, first, "1?", "boss", 1.0)
        approvals.ask(connection, second, "2?", "writer", 1.0)
        approvals.ask(connection, foreign, "3?", "boss", 1.0)
        approvals.decide(connection, request, Decision.APPROVED, "boss", "", 2.0)
    assert steps.settle_approvals(context).detail == "1 processed, 1 pending"
    assert found(context, first).status is Status.OPEN


def test_the_second_step_looks_into_the_inbox_and_says_what_is_there(context: Context) -> None:
    with context.database.write() as connection:
        inbox.send(connection, "writer", "boss", "please", 1.0)
        inbox.send(connection, "coder", "boss", "not yours", 1.0)
    assert steps.settle_approvals(context).detail == "0 pending, 1 message"
    with context.database.read() as connection:
        assert len(inbox.inbox(connection, "writer")) == 1  # read by the task that gets it


def test_a_wake_up_that_another_has_ended_takes_no_task(context: Context) -> None:
    add(context)
    with context.database.write() as connection:
        cycles.end(connection, context.cycle.id, "killed", 1.0)
    outcome = steps.fetch(context)
    assert (outcome.status, outcome.turn) == ("failed", Turn.END)
    assert outcome.detail == "this wake-up was ended by another"


def test_a_read_only_agent_says_when_the_system_cannot_hold_it_to_that(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    context.agent = msgspec.structs.replace(context.agent, scope="read-only")
    monkeypatch.setattr(steps.confine, "enforceable", lambda: False)
    assert steps.identity(context).detail.endswith(
        "scope: read-only (told to the command; this system cannot enforce it)"
    )


def test_where_processes_cannot_be_seen_nothing_is_started(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "here", lambda: Place("b", "n", "m", sees=False))
    outcome = steps.identity(context)
    assert (outcome.status, outcome.turn) == ("failed", Turn.END)
    assert "/proc" in outcome.detail


def test_no_task_ends_the_cycle_and_no_budget_too(context: Context) -> None:
    assert (steps.fetch(context).detail, steps.fetch(context).turn) == ("0 available tasks", Turn.END)
    add(context)
    assert steps.fetch(context).turn is Turn.NEXT
    with context.database.write() as connection:
        budgets.spend(connection, "writer", 100)
    outcome = steps.fetch(context)
    assert (outcome.status, outcome.turn) == ("failed", Turn.END)
    assert outcome.detail == "1 available task, but the budget is used up (100/100)"


def test_when_all_candidates_are_lost_the_tasks_are_fetched_again(context: Context) -> None:
    assert steps.select(context).turn is Turn.FETCH


def test_a_task_whose_file_is_missing_is_blocked_with_the_reason(context: Context) -> None:
    task = add(context, files=("missing.md",))
    for step in (steps.fetch, steps.select, steps.take):
        step(context)
    assert steps.understand(context).turn is Turn.FETCH
    assert found(context, task).reason == "context file 'missing.md': No such file or directory"


def test_a_result_is_stored_and_told_to_whoever_added_the_task_or_works_on_its_parent(
    context: Context,
) -> None:
    for wishes, reader in (({}, "boss"), ({"parent": add(context, "above", assignee="chief")}, "chief")):
        task = taken(context, title=f"for {reader}", **wishes)
        context.execution = DONE
        assert steps.update(context).detail == "in_progress → complete"
        assert (found(context, task).result, sent(context, reader)) == (
            "the result", [f"for {reader}: complete\nthe result"],
        )  # fmt: skip


def test_a_failed_execution_blocks_the_task_with_its_reason(context: Context) -> None:
    task = taken(context)
    context.execution = Execution(Ended.EXITED, "exited with 3", "half an answer", 7)
    assert steps.update(context).detail == "in_progress → blocked"
    assert found(context, task).reason == "exited with 3"


@pytest.mark.parametrize(
    ("agent", "status", "attempts"),
    [
        (Agent("writer", workspace="/no/such/place", command=["cat"]), Status.OPEN, 0),
        (WRITER, Status.BLOCKED, 1),
    ],
    ids=["the agent has lost its workspace", "it is the task's own fault"],
)
def test_a_command_that_cannot_be_started_blocks_the_task_unless_the_agent_could_start_nothing(
    context: Context, agent: Agent, status: Status, attempts: int
) -> None:
    task = taken(context)
    context.agent, context.execution = agent, Execution(Ended.NOT_STARTED, "cat cannot be run", "", 0)
    outcome = steps.update(context)
    assert (found(context, task).status, found(context, task).attempts) == (status, attempts)
    assert (outcome.turn is Turn.END) is (status is Status.OPEN)
    assert context.keep_alive.lease is None


def test_messages_are_read_once_the_result_is_stored_and_not_before(context: Context) -> None:
    with context.database.write() as connection:
        inbox.send(connection, "writer", "boss", "mind the comma", 1.0)
    taken(context)
    assert sent(context, "writer") == ["mind the comma"]
    context.execution = DONE
    steps.update(context)
    assert sent(context, "writer") == []


def test_a_question_asked_at_work_lets_the_task_wait(context: Context) -> None:
    task = taken(context)
    with context.database.write() as connection:
        approvals.ask(connection, task, "May I?", "writer", 1.0)
    context.execution = DONE
    outcome = steps.update(context)
    assert outcome.detail.startswith("in_progress → waiting: May I? (approval-")
    assert outcome.turn is Turn.FETCH
    assert found(context, task).status is Status.WAITING


def test_a_task_the_agent_ended_itself_keeps_its_own_words(context: Context) -> None:
    task = taken(context)
    with context.database.write() as connection:
        tasks.end(connection, task, Status.BLOCKED, "no paper", by="writer", now=1.0)
    context.execution = DONE
    assert steps.update(context).detail == "in_progress → blocked, by its own word"
    assert found(context, task).reason == "no paper"


def test_a_result_under_a_lost_lock_is_not_stored(context: Context) -> None:
    task = taken(context)
    with context.database.write() as connection:
        tasks.end(connection, task, Status.COMPLETE, "another's", by="other", now=1.0)
    context.execution = DONE
    outcome = steps.update(context)
    assert (outcome.status, outcome.turn) == ("failed", Turn.FETCH)
    assert found(context, task).result == "another's"


def test_a_result_waits_for_a_store_that_is_away(
    context: Context, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, file = taken(context), home / "state" / "store.sqlite"
    context.execution = DONE
    now = context.database.now()
    file.rename(home / "away")
    monkeypatch.setattr(steps.time, "sleep", lambda _: (home / "away").rename(file))
    outcome = steps.persistently(context, lambda connection: tasks.find(connection, task).id)
    assert (outcome, now > 0) == (task, True)


def test_sub_tasks_are_opened_and_their_agents_told(context: Context) -> None:
    task = taken(context)
    with context.database.write() as connection:
        part = NewTask("a part", "writer", parent=task, assignee="coder")
        planned = tasks.add(connection, part, 1.0, Status.PLANNED, context.cycle.id)
    outcome = steps.delegate(context)
    assert (outcome.detail, outcome.turn) == (f"1 sub-task: {planned} (coder)", Turn.FETCH)
    assert found(context, planned).status is Status.OPEN
    assert sent(context, "coder") == ["for you: a part"]


def test_the_command_knows_who_it_is_and_what_it_works_on_and_nothing_of_its_caller(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in steps.OWN_VARIABLES:
        monkeypatch.setenv(name, "the caller's")
    task = taken(context)
    environment = steps._order(context).environment
    assert (environment["STRAWBOSS_AGENT"], environment["STRAWBOSS_TASK"]) == ("writer", task)
    assert environment["STRAWBOSS_SCOPE"] == "read-write"
    assert "the caller's" not in environment.values()
