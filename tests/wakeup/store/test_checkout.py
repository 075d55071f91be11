from __future__ import annotations

import pytest
from sqlalchemy import Connection

from strawboss.wakeup.store import checkout, tasks
from strawboss.wakeup.store.checkout import Conflict, Lease
from strawboss.wakeup.store.database import Database
from strawboss.wakeup.store.errors import RefusedError
from strawboss.wakeup.store.tasks import NewTask, Status

NOW = 1_700_000_000.0


@pytest.fixture
def task(connection: Connection) -> str:
    return tasks.add(connection, NewTask("a task", "boss"), NOW)


def take(connection: Connection, task: str, token: str = "t1", now: float = NOW) -> Lease | Conflict:
    return checkout.checkout(connection, task, "me", [], token, now, 60)


def test_a_free_task_is_locked_for_that_long(connection: Connection, task: str) -> None:
    assert take(connection, task) == Lease(task, "me", "t1", NOW + 60)
    found = tasks.find(connection, task)
    assert (found.status, found.lock_holder, found.lock_token) == (Status.IN_PROGRESS, "me", "t1")
    assert (found.lock_expires_at, found.attempts) == (NOW + 60, 1)


def test_a_locked_task_is_a_conflict_until_the_lock_runs_out(connection: Connection, task: str) -> None:
    take(connection, task)
    refused = take(connection, task, "t2", NOW + 59)
    assert refused == Conflict(task, "it is locked by me until 2023-11-14 22:14:20Z")
    assert isinstance(take(connection, task, "t3", NOW + 60), Lease)


def test_a_conflict_says_why(connection: Connection, task: str) -> None:
    waits = tasks.add(connection, NewTask("waits", "boss", needs=(task,)), NOW)
    other = tasks.add(connection, NewTask("other's", "boss", assignee="other"), NOW)
    hard = tasks.add(connection, NewTask("hard", "boss", capabilities=frozenset({"magic"})), NOW)
    planned = tasks.add(connection, NewTask("planned", "boss"), NOW, Status.PLANNED)
    reasons = [take(connection, one).why for one in (waits, other, hard, planned)]  # type: ignore[union-attr]
    assert reasons == [f"it waits for {task}", "it is meant for other", "it needs magic", "it is planned"]


def test_an_unknown_task_is_refused(connection: Connection) -> None:
    with pytest.raises(RefusedError, match="task-none"):
        take(connection, "task-none")


def test_a_row_that_another_is_locking_this_moment_is_skipped_and_not_waited_for(database: Database) -> None:
    if database.engine.dialect.name == "sqlite":
        return  # there a transaction has the store to itself
    with database.write() as one:
        task = tasks.add(one, NewTask("a task", "boss"), NOW)
    with database.write() as one, database.write() as two:
        assert isinstance(take(one, task), Lease)
        assert take(two, task, "t2") == Conflict(task, "somebody is taking it this moment")


def test_a_lock_is_renewed_by_its_holder_only(connection: Connection, task: str) -> None:
    lease = take(connection, task)
    assert isinstance(lease, Lease)
    assert checkout.renew(connection, lease, NOW + 50, 60)
    assert isinstance(take(connection, task, "t2", NOW + 109), Conflict)
    assert isinstance(take(connection, task, "t2", NOW + 110), Lease)
    assert not checkout.renew(connection, lease, NOW + 111, 60)


def test_a_released_task_is_free_and_releasing_needs_the_token(connection: Connection, task: str) -> None:
    take(connection, task)
    assert not checkout.release(connection, task, "other")
    assert checkout.release(connection, task, "t1")
    assert not checkout.release(connection, task, "t1")
    assert tasks.find(connection, task).status is Status.OPEN


def test_a_task_that_was_reassigned_is_free_for_the_other_agent_only(
    connection: Connection, task: str
) -> None:
    take(connection, task)
    assert not checkout.reassign(connection, task, "other", "writer")
    assert checkout.reassign(connection, task, "t1", "writer")
    assert take(connection, task, "t2") == Conflict(task, "it is meant for writer")
    assert isinstance(checkout.checkout(connection, task, "writer", [], "t3", NOW, 60), Lease)


def test_what_an_agent_holds_are_its_locked_tasks(connection: Connection, task: str) -> None:
    take(connection, task)
    assert [one.id for one in checkout.held(connection, "me")] == [task]
    assert checkout.held(connection, "other") == []
