"""Statements on the test server that no store would make itself."""

from __future__ import annotations

import psycopg


def statement(address: str, sql: str) -> None:
    """Run one statement as the server's owner, outside any transaction."""
    with psycopg.connect(address.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(sql.encode())
