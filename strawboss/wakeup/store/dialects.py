"""The one statement that SQLAlchemy spells differently for each engine."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


def insert_if_absent(connection: Connection, table: Table, row: Mapping[str, object]) -> bool:
    """Insert a row unless its key is taken. False: it is."""
    if connection.dialect.name == "postgresql":
        return connection.execute(postgresql.insert(table).values(row).on_conflict_do_nothing()).rowcount == 1
    return connection.execute(sqlite.insert(table).values(row).on_conflict_do_nothing()).rowcount == 1
