from __future__ import annotations

from sqlalchemy import Connection

from strawboss.wakeup.store.insert import insert_if_absent
from strawboss.wakeup.store.schema import budgets


def test_a_row_is_inserted_unless_its_key_is_taken(connection: Connection) -> None:
    assert insert_if_absent(connection, budgets, {"agent": "writer", "used": 1})
    assert not insert_if_absent(connection, budgets, {"agent": "writer", "used": 2})
    assert [row.used for row in connection.execute(budgets.select())] == [1]
