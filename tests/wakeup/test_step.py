from __future__ import annotations

from typing import Any

import pytest

from strawboss.wakeup.step import Context, Noticed
from strawboss.wakeup.store.tasks import Task


@pytest.fixture
def context() -> Context:
    nobody: Any = None
    return Context(nobody, nobody, nobody, nobody, nobody)


def task(name: str) -> Any:
    return type("Named", (), {"id": name})()


def test_what_was_noticed_of_the_inbox_stays_when_tasks_are_noticed(context: Context) -> None:
    context.notice([task("t1")])
    assert context.noticed == Noticed(frozenset({"t1"}), 0)
    context.noticed = Noticed(frozenset(), 7)
    found: list[Task] = [task("t1"), task("t2")]
    context.notice(found)
    assert context.noticed == Noticed(frozenset({"t1", "t2"}), 7)


def test_nothing_of_a_task_is_known_with_the_next_one(context: Context) -> None:
    context.task = context.lease = task("t1")
    context.forget_task()
    assert (context.task, context.lease, context.known, context.execution) == (None, None, None, None)
    with pytest.raises(AssertionError):
        _ = context.chosen
