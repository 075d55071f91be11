"""A statement that was put together once does what it says, for lists of any length, in either database."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection, bindparam, insert, select, update
from sqlalchemy.exc import InvalidRequestError

from strawboss.wakeup.store.prepared import Prepared
from strawboss.wakeup.store.schema import budgets

NAMES = ("ada", "bo", "%s?:x")
SPEND = Prepared(
    update(budgets)
    .where(budgets.c.agent.in_(bindparam("names", expanding=True)), budgets.c.agent.in_(NAMES))
    .values(used=budgets.c.used + bindparam("more"))
)


@pytest.fixture(autouse=True)
def purses(connection: Connection) -> None:
    connection.execute(insert(budgets), [{"agent": name, "used": 0} for name in NAMES])


def spent(connection: Connection) -> dict[str, int]:
    return {row.agent: row.used for row in connection.execute(select(budgets))}


def test_lists_of_each_length_come_again_and_again_and_each_call_has_its_own_values(
    connection: Connection,
) -> None:
    expected = dict.fromkeys(NAMES, 0)
    for more in (1, 10, 100):
        for names in ([], ["bo"], ["ada", "nobody"], ["%s?:x", "ada", "bo"]):
            found = SPEND.execute(connection, {"names": names, "more": more}).rowcount
            assert found == len(set(names) & set(NAMES))
            expected = {name: used + more if name in names else used for name, used in expected.items()}
            assert spent(connection) == expected


def test_a_value_that_is_left_out_is_an_error_and_changes_nothing(connection: Connection) -> None:
    SPEND.execute(connection, {"names": ["ada"], "more": 0})
    with pytest.raises(InvalidRequestError, match="'more'"):
        SPEND.execute(connection, {"names": ["ada"]})
    assert spent(connection) == dict.fromkeys(NAMES, 0)
