"""The insert of a row that may be there already."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, Table

from strawboss.wakeup.store.engines import kind_of


def insert_if_absent(connection: Connection, table: Table, row: Mapping[str, object]) -> bool:
    """Insert a row unless its key is taken. False: it is."""
    # The key comes back for a row that went in; the count of rows is not to be had of every driver.
    statement = kind_of(connection).insert(table).values(row).on_conflict_do_nothing()
    return connection.execute(statement.returning(*table.primary_key.columns)).first() is not None
