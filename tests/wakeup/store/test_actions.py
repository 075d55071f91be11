from __future__ import annotations

import threading

from sqlalchemy import Connection

from strawboss.wakeup.store.actions import ACTION_WINDOW_SECONDS, CLAIM_SECONDS, claim, conclude, recent
from strawboss.wakeup.store.database import Database

NOW = 1_700_000_000.0


def test_an_incident_is_claimed_once(connection: Connection) -> None:
    assert claim(connection, "cycle-1", "writer", "restart", NOW)
    assert not claim(connection, "cycle-1", "writer", "restart", NOW + 1)
    assert claim(connection, "cycle-2", "writer", "restart", NOW + 1)


def test_a_claim_whose_monitor_died_before_the_act_is_taken_over_later(connection: Connection) -> None:
    claim(connection, "cycle-1", "writer", "restart", NOW)
    assert not claim(connection, "cycle-1", "writer", "kill", NOW + CLAIM_SECONDS - 1)
    assert claim(connection, "cycle-1", "writer", "kill", NOW + CLAIM_SECONDS)
    assert not claim(connection, "cycle-1", "writer", "kill", NOW + CLAIM_SECONDS + 1)


def test_what_was_concluded_is_never_done_again(connection: Connection) -> None:
    claim(connection, "cycle-1", "writer", "restart", NOW)
    conclude(connection, "cycle-1", "restart (now pid 7)")
    assert not claim(connection, "cycle-1", "writer", "restart", NOW + 10 * CLAIM_SECONDS)


def test_the_actions_of_the_last_hour_are_counted_and_warnings_are_not(connection: Connection) -> None:
    claim(connection, "old", "writer", "restart", NOW - ACTION_WINDOW_SECONDS)
    claim(connection, "cycle-1", "writer", "restart", NOW - ACTION_WINDOW_SECONDS + 1)
    claim(connection, "cycle-2", "writer", "kill", NOW)
    claim(connection, "alert", "writer", "warn", NOW)
    claim(connection, "cycle-3", "coder", "restart", NOW)
    assert recent(connection, "writer", NOW) == 2


def test_of_many_monitors_at_once_one_gets_the_claim(database: Database) -> None:
    won: list[bool] = []

    def claims() -> None:
        with database.write() as connection:
            won.append(claim(connection, "cycle-1", "writer", "restart", NOW))

    monitors = [threading.Thread(target=claims) for _ in range(8)]
    for monitor in monitors:
        monitor.start()
    for monitor in monitors:
        monitor.join()
    assert sorted(won) == [False] * 7 + [True]
