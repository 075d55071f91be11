from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, delete, update

from strawboss.wakeup.store import available as module
from strawboss.wakeup.store import checkout as locks
from strawboss.wakeup.store import schema, tasks
from strawboss.wakeup.store.available import available, block_worn_out
from strawboss.wakeup.store.checkout import Conflict, Lease
from strawboss.wakeup.store.database import Database
from strawboss.wakeup.store.tasks import NewTask, Priority, Status

NOW = 1_700_000_000.0


def add(connection: Connection, title: str = "a task", **wishes: object) -> str:
    return tasks.add(connection, NewTask(title, "boss", **wishes), NOW)  # type: ignore[arg-type]


STATES = st.sampled_from(["open", "planned", "waiting", "complete", "blocked", "locked", "expired"])
SKILLS = st.frozensets(st.sampled_from("abc"), max_size=2)
PLANS = st.lists(st.tuples(STATES, SKILLS, st.sampled_from([None, "me", "other"]), st.booleans()), max_size=6)


@given(plans=PLANS, able=SKILLS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_available_and_checkout_agree_with_the_plain_rule(
    database: Database, plans: list[tuple[str, frozenset[str], str | None, bool]], able: frozenset[str]
) -> None:
    with database.write() as connection:
        for table in (schema.tasks, schema.task_needs, schema.task_capabilities):
            connection.execute(delete(table))
        expected, added = set(), []
        for state, needed, assignee, after_the_last in plans:
            needs = (added[-1][0],) if after_the_last and added else ()
            task = add(connection, state, capabilities=needed, assignee=assignee, needs=needs)
            met = not needs or added[-1][1] == "complete"
            if state in ("open", "expired") and needed <= able and assignee != "other" and met:
                expected.add(task)
            put(connection, task, state)
            added.append((task, state))
        count, found = available(connection, "me", able, NOW)
        assert {task.id for task in found} == expected
        assert count == len(expected)
        for task, _ in added:
            got = locks.checkout(connection, task, "me", able, "token", NOW, 60)
            assert isinstance(got, Lease if task in expected else Conflict), got


def put(connection: Connection, task: str, state: str) -> None:
    change = update(schema.tasks).where(schema.tasks.c.id == task)
    if state in ("locked", "expired"):
        expires = NOW + (1 if state == "locked" else 0)
        lock = {"lock_holder": "other", "lock_token": "t", "lock_expires_at": expires}
        connection.execute(change.values(status=Status.IN_PROGRESS, **lock))
    else:
        connection.execute(change.values(status=state))


def test_only_the_best_hundred_are_looked_at_and_all_are_counted(connection: Connection) -> None:
    for number in range(module.MOST_CANDIDATES + 5):
        add(connection, f"{number:03}", priority=Priority.HIGH if number >= 5 else Priority.LOW)
    count, found = available(connection, "me", [], NOW)
    assert count == module.MOST_CANDIDATES + 5
    assert {task.priority for task in found} == {Priority.HIGH}


def test_among_equals_the_nearest_deadline_comes_first_and_none_comes_last(connection: Connection) -> None:
    for title, deadline in (("none", None), ("late", NOW + 9), ("soon", NOW + 1)):
        add(connection, title, deadline=deadline)
    assert [task.title for task in available(connection, "me", [], NOW)[1]] == ["soon", "late", "none"]


def test_a_task_whose_attempts_all_ended_without_a_result_is_blocked(connection: Connection) -> None:
    task = add(connection)
    for attempt in range(module.MOST_ATTEMPTS):
        assert block_worn_out(connection, NOW + attempt * 60) == []
        assert isinstance(
            locks.checkout(connection, task, "me", [], str(attempt), NOW + attempt * 60, 60), Lease
        )
    last = NOW + (module.MOST_ATTEMPTS - 1) * 60
    assert block_worn_out(connection, last) == []  # its last attempt is still under way
    assert block_worn_out(connection, last + 60) == [task]
    assert tasks.find(connection, task).reason == "3 attempts ended without a result"
