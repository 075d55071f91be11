from __future__ import annotations

import pytest
from sqlalchemy import Connection

from strawboss.wakeup.store import checkout, inbox, tasks
from strawboss.wakeup.store.approvals import Decision, ask, decide, pending, settle, wait
from strawboss.wakeup.store.errors import RefusedError
from strawboss.wakeup.store.tasks import NewTask, Status

NOW = 1_700_000_000.0


@pytest.fixture
def task(connection: Connection) -> str:
    return tasks.add(connection, NewTask("a task", "boss"), NOW)


def status(connection: Connection, task: str) -> Status:
    return tasks.find(connection, task).status


def test_a_task_waits_from_the_question_until_the_yes_is_settled(connection: Connection, task: str) -> None:
    request = ask(connection, task, "May I?", "writer", NOW)
    assert status(connection, task) is Status.WAITING
    assert settle(connection, NOW) == []
    decide(connection, request, Decision.APPROVED, "boss", "go", NOW + 1)
    assert status(connection, task) is Status.WAITING
    assert [approval.id for approval in settle(connection, NOW + 2)] == [request]
    assert status(connection, task) is Status.OPEN
    assert [message.body for message in inbox.inbox(connection, "writer")] == ["May I?: approved by boss: go"]


def test_a_no_blocks_the_task_and_says_who_and_why(connection: Connection, task: str) -> None:
    request = ask(connection, task, "May I?", "writer", NOW)
    decide(connection, request, Decision.DENIED, "boss", "too dear", NOW)
    settle(connection, NOW)
    assert status(connection, task) is Status.BLOCKED
    assert tasks.find(connection, task).reason == "denied by boss: too dear"


def test_what_was_settled_is_not_settled_again(connection: Connection, task: str) -> None:
    decide(connection, ask(connection, task, "May I?", "writer", NOW), Decision.DENIED, "boss", "", NOW)
    settle(connection, NOW)
    tasks.reopen(connection, task)
    assert settle(connection, NOW) == []
    assert status(connection, task) is Status.OPEN


def test_a_task_with_two_questions_waits_for_both(connection: Connection, task: str) -> None:
    first, second = ask(connection, task, "1?", "writer", NOW), ask(connection, task, "2?", "writer", NOW)
    decide(connection, first, Decision.APPROVED, "boss", "", NOW)
    settle(connection, NOW)
    assert status(connection, task) is Status.WAITING
    assert [approval.id for approval in pending(connection)] == [second]
    decide(connection, second, Decision.APPROVED, "boss", "", NOW)
    settle(connection, NOW)
    assert status(connection, task) is Status.OPEN


def test_a_request_is_decided_once(connection: Connection, task: str) -> None:
    request = ask(connection, task, "May I?", "writer", NOW)
    decide(connection, request, Decision.APPROVED, "boss", "", NOW)
    with pytest.raises(RefusedError, match="approved by boss before"):
        decide(connection, request, Decision.DENIED, "other", "", NOW)


def test_an_unknown_request_and_a_task_that_has_ended_are_refused(connection: Connection, task: str) -> None:
    with pytest.raises(RefusedError, match="approval-none"):
        decide(connection, "approval-none", Decision.APPROVED, "boss", "", NOW)
    tasks.end(connection, task, Status.COMPLETE, "", by="boss", now=NOW)
    with pytest.raises(RefusedError, match="has ended"):
        ask(connection, task, "May I?", "writer", NOW)


def test_a_task_under_way_is_given_back_to_wait_without_an_attempt(connection: Connection, task: str) -> None:
    checkout.checkout(connection, task, "writer", [], "token", NOW, 60)
    request = ask(connection, task, "May I?", "writer", NOW)
    assert status(connection, task) is Status.IN_PROGRESS
    assert not wait(connection, task, "other")
    assert wait(connection, task, "token")
    found = tasks.find(connection, task)
    assert (found.status, found.attempts, found.lock_holder) == (Status.WAITING, 0, None)
    decide(connection, request, Decision.APPROVED, "boss", "", NOW)
    settle(connection, NOW)
    assert status(connection, task) is Status.OPEN
