from __future__ import annotations

import pytest
from sqlalchemy import Connection, update

from strawboss.wakeup.store import checkout as locks
from strawboss.wakeup.store import schema, tasks
from strawboss.wakeup.store.checkout import Lease
from strawboss.wakeup.store.errors import RefusedError
from strawboss.wakeup.store.tasks import NewTask, Priority, Status

NOW = 1_700_000_000.0


def add(connection: Connection, title: str = "a task", **wishes: object) -> str:
    return tasks.add(connection, NewTask(title, "boss", **wishes), NOW)  # type: ignore[arg-type]


def names(found: list[tasks.Task]) -> list[str]:
    return [task.title for task in found]


def test_a_task_comes_back_as_it_was_added(connection: Connection) -> None:
    first = add(connection, "first")
    new = NewTask(
        "  second ",
        "writer",
        "body",
        Priority.URGENT,
        NOW + 5,
        5,
        ("a.md", "b c.md"),
        first,
        "coder",
        (first,),
        frozenset("xy"),
    )
    found = tasks.find(connection, tasks.add(connection, new, NOW))
    assert (found.title, found.created_by, found.body, found.priority) == (
        "second",
        "writer",
        "body",
        Priority.URGENT,
    )
    assert (found.deadline, found.complexity, found.files) == (NOW + 5, 5, ("a.md", "b c.md"))
    assert (found.parent, found.assignee, found.needs) == (first, "coder", (first,))
    assert (found.capabilities, found.created_at, found.status) == (frozenset("xy"), NOW, Status.OPEN)


@pytest.mark.parametrize(
    ("wishes", "complaint"),
    [
        ({"title": " "}, "title"),
        ({"title": "x" * 501}, "title"),
        ({"complexity": 0}, "complexity 0"),
        ({"complexity": 6}, "complexity 6"),
        ({"needs": ("task-none",)}, "task-none"),
        ({"parent": "task-none"}, "task-none"),
    ],
)
def test_a_task_that_makes_no_sense_is_refused_in_one_line(
    connection: Connection, wishes: dict[str, object], complaint: str
) -> None:
    with pytest.raises(RefusedError, match=complaint):
        add(connection, **wishes)
    assert tasks.listed(connection) == []


def test_an_unknown_task_is_refused_by_name(connection: Connection) -> None:
    with pytest.raises(RefusedError, match="task-x"):
        tasks.find(connection, "task-x")


def test_the_list_has_the_highest_priority_first_and_then_the_oldest(connection: Connection) -> None:
    for title, priority in (("low", Priority.LOW), ("urgent", Priority.URGENT), ("normal", Priority.NORMAL)):
        add(connection, title, priority=priority)
    assert names(tasks.listed(connection)) == ["urgent", "normal", "low"]
    assert names(tasks.listed(connection, [Status.COMPLETE])) == []


def test_the_parents_of_a_task_are_found_nearest_first(connection: Connection) -> None:
    top = add(connection, "top")
    middle = add(connection, "middle", parent=top)
    leaf = tasks.find(connection, add(connection, "leaf", parent=middle))
    assert names(tasks.chain(connection, leaf)) == ["middle", "top"]


def test_a_circle_of_parents_ends(connection: Connection) -> None:
    one = add(connection, "one")
    two = add(connection, "two", parent=one)
    connection.execute(update(schema.tasks).where(schema.tasks.c.id == one).values(parent=two))
    assert names(tasks.chain(connection, tasks.find(connection, one))) == ["two", "one"]


def locked(connection: Connection, **wishes: object) -> Lease:
    got = locks.checkout(connection, add(connection, **wishes), "me", [], "token", NOW, 60)
    assert isinstance(got, Lease)
    return got


@pytest.mark.parametrize("status", [Status.COMPLETE, Status.BLOCKED])
def test_a_task_ends_under_its_lock_with_its_words(connection: Connection, status: Status) -> None:
    lease = locked(connection)
    assert tasks.finish(connection, lease.task, lease.token, status, "words", by="me", now=NOW)
    found = tasks.find(connection, lease.task)
    assert (found.status, found.finished_by, found.finished_at) == (status, "me", NOW)
    assert (found.result, found.reason) == (("words", None) if status is Status.COMPLETE else (None, "words"))
    assert (found.lock_holder, found.lock_token, found.lock_expires_at) == (None, None, None)


def test_a_task_does_not_end_under_another_lock_nor_twice(connection: Connection) -> None:
    lease = locked(connection)
    assert not tasks.finish(connection, lease.task, "other", Status.COMPLETE, "", by="me", now=NOW)
    assert tasks.finish(connection, lease.task, lease.token, Status.COMPLETE, "", by="me", now=NOW)
    assert not tasks.finish(connection, lease.task, lease.token, Status.BLOCKED, "", by="me", now=NOW)
    assert not tasks.end(connection, lease.task, Status.BLOCKED, "", by="boss", now=NOW)
    assert tasks.find(connection, lease.task).status is Status.COMPLETE


def test_a_blocked_task_is_opened_again_with_its_attempts_counted_anew(connection: Connection) -> None:
    lease = locked(connection)
    assert not tasks.reopen(connection, lease.task)
    tasks.finish(connection, lease.task, lease.token, Status.BLOCKED, "why", by="me", now=NOW)
    assert tasks.reopen(connection, lease.task)
    found = tasks.find(connection, lease.task)
    assert (found.status, found.attempts, found.reason, found.finished_by) == (Status.OPEN, 0, None, None)


def test_planned_sub_tasks_are_opened_by_their_cycle_only_and_can_be_dropped(connection: Connection) -> None:
    parent, other = add(connection, "parent"), add(connection, "other")
    for title, above, cycle in (("mine", parent, "c1"), ("theirs", parent, "c2"), ("elsewhere", other, "c1")):
        new = NewTask(title, "me", parent=above, needs=(other,), capabilities=frozenset("a"))
        tasks.add(connection, new, NOW, Status.PLANNED, cycle)
    assert names(tasks.publish(connection, "c1", parent)) == ["mine"]
    assert names(tasks.publish(connection, "c1", parent)) == []
    assert tasks.drop_planned(connection, "c1") == 1
    assert names(tasks.listed(connection, [Status.PLANNED])) == ["theirs"]
    left = [row.task for row in connection.execute(schema.task_needs.select())]
    assert len(left) == 2  # those of "mine" and "theirs"
