"""Connections to PostgreSQL that do not wait for ever: a server that is cut off says neither yes nor no."""

from __future__ import annotations

from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen

T = TypeVar("T")
# Longer than a statement may wait for another's lock, which the server ends itself.
ANSWER_SECONDS = 35.0
# The kernel finds out about a host that is gone: idle connections are asked after, what was sent is not repeated for ever.
KEEPALIVE = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}


class Impatient(psycopg.Connection[Any]):
    """Raises OperationalError, and is closed, when the server has not answered within ANSWER_SECONDS."""

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        if timeout is not None:
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(gen, interval, ANSWER_SECONDS)
        except psycopg.OperationalError as error:
            if type(error).__name__ != "_WaitTimeout":
                raise
            self.pgconn.finish()  # an answer that came now would be taken for that of the next statement
            raise psycopg.OperationalError(f"no answer within {ANSWER_SECONDS:.0f}s") from None
