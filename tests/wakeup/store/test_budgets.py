from __future__ import annotations

import threading

from strawboss.wakeup.store.budgets import all_used, reset, spend, used
from strawboss.wakeup.store.database import Database


def test_tokens_add_up_by_agent_and_a_reset_starts_anew(database: Database) -> None:
    with database.write() as connection:
        assert used(connection, "writer") == 0
        assert spend(connection, "writer", 5) == 5
        assert spend(connection, "writer", 2**40) == 5 + 2**40
        spend(connection, "coder", 1)
        assert all_used(connection) == {"writer": 5 + 2**40, "coder": 1}
        assert reset(connection, "writer") == 5 + 2**40
        assert reset(connection, "nobody") == 0
        assert used(connection, "writer") == 0


def test_no_token_is_lost_when_several_spend_at_once(database: Database) -> None:
    def spends() -> None:
        for _ in range(10):
            with database.write() as connection:
                spend(connection, "writer", 1)

    threads = [threading.Thread(target=spends) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.read() as connection:
        assert used(connection, "writer") == 40
