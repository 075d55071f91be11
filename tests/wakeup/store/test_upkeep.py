from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import Connection, insert, update
from wakeup.identities import NOBODY

from strawboss.wakeup.store import (
    actions,
    approvals,
    checkout,
    cycles,
    events,
    hosts,
    inbox,
    schema,
    tasks,
    upkeep,
)
from strawboss.wakeup.store.tasks import NewTask, Status

DAY = 86_400.0
NOW = 1_700_000_000.0


def add(connection: Connection, title: str = "a task", **wishes: object) -> str:
    return tasks.add(connection, NewTask(title, "boss", **wishes), NOW)  # type: ignore[arg-type]


def history_of(connection: Connection, at: float) -> str:
    """A wake-up, long over or not, with all that it leaves."""
    cycle = cycles.begin(connection, "writer", "here", NOBODY, None, at)
    events.record(connection, "writer", "cycle began", "", at, cycle=cycle.id)
    actions.claim(connection, cycle.id, "writer", "restart", at)
    inbox.send(connection, "writer", "boss", "hello", at)
    inbox.mark_read(connection, inbox.inbox(connection, "writer"), at)
    cycles.end(connection, cycle.id, "ended", at)
    return cycle.id


def test_what_is_old_and_over_is_forgotten_and_the_rest_stays(connection: Connection) -> None:
    history_of(connection, NOW - 40 * DAY)
    young = history_of(connection, NOW - DAY)
    task = add(connection)
    hosts.renew(connection, "an old boot", "here", NOW - 40 * DAY)
    hosts.renew(connection, "this boot", "here", NOW + 180)
    gone = upkeep.prune(connection, NOW - 30 * DAY, NOW)
    assert gone == {"events": 1, "cycles": 1, "actions": 1, "messages": 1, "hosts": 1}
    left = upkeep.counts(connection)
    assert {name: left[name] for name in gone} == dict.fromkeys(gone, 1)
    assert cycles.latest(connection)["writer"].id == young
    assert tasks.find(connection, task).title == "a task"
    assert upkeep.prune(connection, NOW - 30 * DAY, NOW) == dict.fromkeys(gone, 0)


def test_what_is_old_and_not_over_stays(connection: Connection) -> None:
    last = history_of(connection, NOW - 40 * DAY)
    running = cycles.begin(connection, "coder", "here", NOBODY, None, NOW - 40 * DAY)
    inbox.send(connection, "writer", "boss", "unread", NOW - 40 * DAY)
    upkeep.prune(connection, NOW - 30 * DAY, NOW)
    assert {one.id for one in cycles.latest(connection).values()} == {last, running.id}
    assert upkeep.open_cycles(connection) == [running.id]
    assert [message.body for message in inbox.inbox(connection, "writer")] == ["unread"]


def test_actions_that_still_count_against_the_limit_stay(connection: Connection) -> None:
    actions.claim(connection, "incident", "writer", "restart", NOW - 60)
    upkeep.prune(connection, NOW, NOW)
    assert actions.recent(connection, "writer", NOW) == 1


def test_a_store_at_work_has_nothing_to_complain_of(connection: Connection) -> None:
    cycle = cycles.begin(connection, "writer", "here", NOBODY, None, NOW)
    first = add(connection, capabilities=frozenset({"words"}))
    second = add(connection, needs=(first,), parent=first)
    checkout.checkout(connection, first, "writer", ["words"], f"{cycle.id}/x", NOW, 60)
    approvals.ask(connection, second, "may it?", "writer", NOW)
    assert upkeep.complaints(connection) == []


def unlocked(connection: Connection) -> str:
    task = add(connection)
    connection.execute(update(schema.tasks).values(status=Status.IN_PROGRESS))
    return f"{task}: it is in_progress without a lock"


def locked(connection: Connection) -> str:
    task = add(connection)
    connection.execute(update(schema.tasks).values(lock_token="x"))
    return f"{task}: it is open and has a lock"


def strange(connection: Connection) -> str:
    task = add(connection)
    connection.execute(update(schema.tasks).values(status="asleep"))
    return f"{task}: its status is 'asleep', which is none"


def orphaned(connection: Connection) -> str:
    add(connection)
    connection.execute(update(schema.tasks).values(parent="task-0"))
    return "tasks: parent task-0 is not there"


def needing(connection: Connection) -> str:
    connection.execute(insert(schema.task_needs).values(task=add(connection), needs="task-0"))
    return "task_needs: needs task-0 is not there"


def circling(connection: Connection) -> str:
    first = add(connection)
    second = add(connection, needs=(first,))
    connection.execute(insert(schema.task_needs).values(task=first, needs=second))
    return f"{min(first, second)}: it waits for itself"


def beating(connection: Connection) -> str:
    cycles.begin(connection, "writer", "here", NOBODY, None, NOW)
    connection.execute(update(schema.heartbeats).values(cycle="cycle-0"))
    return "heartbeats: cycle cycle-0 is not there"


@pytest.mark.parametrize("spoil", [unlocked, locked, strange, orphaned, needing, circling, beating])
def test_each_contradiction_is_found(connection: Connection, spoil: Callable[[Connection], str]) -> None:
    expected = spoil(connection)
    assert expected in upkeep.complaints(connection)
