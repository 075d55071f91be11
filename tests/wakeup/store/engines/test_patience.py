from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import text

from strawboss.wakeup.store.database import Database, open_database
from strawboss.wakeup.store.engines import patience
from strawboss.wakeup.store.errors import StoreError

pytestmark = pytest.mark.slow

SECONDS = 0.5


@pytest.fixture
def impatient(postgres: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setattr(patience, "ANSWER_SECONDS", SECONDS)
    database = open_database(postgres)
    yield database
    database.close()


@contextmanager
def dumb(database: Database) -> Iterator[None]:
    """The process of the server that this connection speaks to says nothing any more, as when the line is cut."""
    with database.read() as connection:
        process = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


def test_a_server_that_says_nothing_in_the_middle_of_a_transaction_is_an_error_after_a_while(
    impatient: Database,
) -> None:
    def ask() -> None:
        with impatient.read() as connection:
            process = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
            os.kill(process, signal.SIGSTOP)
            try:
                connection.execute(text("SELECT 1"))
            finally:
                os.kill(process, signal.SIGCONT)

    began = time.monotonic()
    with pytest.raises(StoreError, match="no answer within"):
        ask()
    assert SECONDS <= time.monotonic() - began < 20
    assert impatient.now() > 0


def test_a_connection_that_has_died_in_between_is_replaced(impatient: Database) -> None:
    with dumb(impatient):
        assert impatient.now() > 0


def test_who_waits_on_purpose_may_wait_longer(impatient: Database) -> None:
    with impatient.read() as connection:
        driver = connection.connection.driver_connection
        assert list(driver.notifies(timeout=2 * SECONDS)) == []  # type: ignore[union-attr]
        assert connection.execute(text("SELECT 1")).scalar_one() == 1


def test_the_usual_patience_outlasts_the_servers_own_limit() -> None:
    from strawboss.wakeup.store.engines.interface import BUSY_SECONDS

    assert patience.Impatient.wait.__module__ == patience.__name__
    assert patience.ANSWER_SECONDS > BUSY_SECONDS
