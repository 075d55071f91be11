"""The one statement that SQLAlchemy spells differently for each engine."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


def insert_if_absent(connection: Connection, table: Table, row: Mapping[str, object]) -> bool:
    """Insert a row unless its key is taken. False: it is."""
    # The key comes back for a row that went in; the count of rows is not to be had of every driver.
    key = table.primary_key.columns
    if connection.dialect.name == "postgresql":
        statement = postgresql.insert(table).values(row).on_conflict_do_nothing().returning(*key)
        return connection.execute(statement).first() is not None
    return (
        connection.execute(sqlite.insert(table).values(row).on_conflict_do_nothing().returning(*key)).first()
        is not None
    )
