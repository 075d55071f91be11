from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from sqlalchemy import make_url
from wakeup.postgres import statement

from strawboss.wakeup.store import inbox
from strawboss.wakeup.store.changes import listening
from strawboss.wakeup.store.database import open_database
from strawboss.wakeup.store.errors import StoreError


@pytest.fixture
def plain_role(postgres: str) -> Iterator[str]:
    """The recipe of docs/wakeup.md#many-machines: a role that may nothing, and a database of its own."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    statement(postgres, f"CREATE ROLE {name} LOGIN")
    statement(postgres, f"CREATE DATABASE {name} OWNER {name}")
    yield make_url(postgres).set(username=name, database=name).render_as_string(hide_password=False)
    statement(postgres, f"DROP DATABASE {name} WITH (FORCE)")
    statement(postgres, f"DROP ROLE {name}")


def test_a_role_that_owns_its_database_and_nothing_else_is_enough(plain_role: str) -> None:
    database = open_database(plain_role)
    with listening(database, "writer") as changed:
        with database.write() as connection:
            inbox.send(connection, "writer", "boss", "hello", database.now())
        assert changed(30.0)
    database.close()
    open_database(plain_role).close()


def test_a_role_that_may_not_make_its_tables_is_one_line(plain_role: str, postgres: str) -> None:
    other = make_url(plain_role).set(database=make_url(postgres).database)
    with pytest.raises(StoreError) as caught:
        open_database(other.render_as_string(hide_password=False))
    assert "permission denied" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_schema_with_the_longest_of_names_is_a_store_too(postgres: str) -> None:
    name = f"test_{uuid.uuid4().hex}".ljust(63, "x")
    statement(postgres, f"CREATE SCHEMA {name}")
    own = make_url(postgres).update_query_dict({"options": f"-csearch_path={name}"})
    database = open_database(own.render_as_string(hide_password=False))
    with listening(database, "writer") as changed:
        with database.write() as connection:
            inbox.send(connection, "writer", "boss", "hello", database.now())
        assert changed(30.0)
    database.close()
    statement(postgres, f"DROP SCHEMA {name} CASCADE")
