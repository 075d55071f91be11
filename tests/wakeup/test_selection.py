from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strawboss.wakeup.selection import (
    DEADLINE_HORIZON_SECONDS,
    USUAL_TOKENS,
    affordability,
    level,
    match,
    pressure,
    ranked,
    score,
)
from strawboss.wakeup.store.tasks import Priority, Status, Task

NOW = 1_700_000_000.0
PLAIN = Task(
    "task-1", "a task", "", Status.OPEN, Priority.NORMAL, None, 3, (), None, None, "boss", NOW,
    0, None, None, None, None, None, None, None, None,
)  # fmt: skip
TASKS = st.builds(
    lambda name, priority, deadline, complexity, needed, age: replace(
        PLAIN,
        id=f"task-{name}",
        priority=priority,
        deadline=None if deadline is None else NOW + deadline,
        complexity=complexity,
        capabilities=needed,
        created_at=NOW - age,
    ),
    st.integers(0, 10**6),
    st.sampled_from(Priority),
    st.none() | st.floats(-1e7, 1e7),
    st.integers(1, 5),
    st.frozensets(st.sampled_from("abc")),
    st.floats(0, 1e6),
)
LEVELS = st.dictionaries(st.sampled_from("abc"), st.integers(1, 5))
REMAINING = st.none() | st.integers(1, 100_000)


@given(TASKS, TASKS, LEVELS, REMAINING)
def test_a_higher_priority_always_comes_first(
    one: Task, two: Task, levels: dict[str, int], left: int | None
) -> None:
    if one.priority > two.priority:
        assert score(one, levels, left, NOW).total > score(two, levels, left, NOW).total


@given(TASKS, LEVELS, REMAINING)
def test_every_part_stays_within_its_weight(task: Task, levels: dict[str, int], left: int | None) -> None:
    found = score(task, levels, left, NOW)
    assert 0 <= found.deadline <= 50
    assert 0 <= found.match <= 30
    assert 0 <= found.budget <= 19
    assert found.priority == 100 * task.priority


@given(st.lists(TASKS, max_size=8, unique_by=lambda task: task.id), LEVELS, REMAINING)
def test_the_ranking_is_all_tasks_best_first_whatever_their_order(
    tasks: list[Task], levels: dict[str, int], left: int | None
) -> None:
    found = ranked(tasks, levels, left, NOW)
    assert sorted(one.task.id for one in found) == sorted(task.id for task in tasks)
    assert [one.total for one in found] == sorted((one.total for one in found), reverse=True)
    assert ranked(tasks[::-1], levels, left, NOW) == found


@pytest.mark.parametrize(("left", "count"), [(None, 1), (1, 1), (0, 0), (-5, 0)])
def test_without_budget_there_is_nothing_to_select(left: int | None, count: int) -> None:
    assert len(ranked([PLAIN], {}, left, NOW)) == count


@pytest.mark.parametrize(
    ("ahead", "pressed"),
    [
        (None, 0.0),
        (2 * DEADLINE_HORIZON_SECONDS, 0.0),
        (DEADLINE_HORIZON_SECONDS / 2, 0.5),
        (0.0, 1.0),
        (-99.0, 1.0),
    ],
)
def test_a_deadline_presses_more_the_nearer_it_is(ahead: float | None, pressed: float) -> None:
    assert pressure(None if ahead is None else NOW + ahead, NOW) == pytest.approx(pressed)


@pytest.mark.parametrize(
    ("needed", "levels", "skill"),
    [
        ("", {}, 3),
        ("", {"a": 2, "b": 5}, 5),
        ("a", {"a": 2, "b": 5}, 2),
        ("ab", {"a": 2, "b": 5}, 2),
        ("c", {"a": 2}, 1),
    ],
)
def test_the_skill_for_a_task_is_the_weakest_it_needs(
    needed: str, levels: dict[str, int], skill: int
) -> None:
    assert level(replace(PLAIN, capabilities=frozenset(needed)), levels) == skill


@pytest.mark.parametrize(
    ("complexity", "skill", "fits"), [(3, 3, 1.0), (5, 1, 0.0), (1, 5, 0.0), (4, 3, 0.75)]
)
def test_a_task_fits_best_where_complexity_and_skill_are_equal(
    complexity: int, skill: int, fits: float
) -> None:
    assert match(complexity, skill) == fits


@pytest.mark.parametrize(
    ("left", "covered"), [(None, 1.0), (USUAL_TOKENS[3], 1.0), (USUAL_TOKENS[3] // 2, 0.5), (10**9, 1.0)]
)
def test_a_budget_counts_by_the_part_of_the_usual_cost_it_covers(left: int | None, covered: float) -> None:
    assert affordability(3, left) == covered


def test_among_equals_the_oldest_comes_first() -> None:
    older = replace(PLAIN, id="task-9", created_at=NOW - 1)
    assert [one.task.id for one in ranked([PLAIN, older], {}, None, NOW)] == ["task-9", "task-1"]
