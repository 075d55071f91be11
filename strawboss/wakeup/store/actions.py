"""The journal of stall actions: written before the act, one row per incident, so that two monitors act once."""

from __future__ import annotations

from sqlalchemy import Connection, func, select, update

from strawboss.wakeup.store.insert import insert_if_absent
from strawboss.wakeup.store.schema import actions

# A monitor that died between journal and act left its row without an outcome: after that long another may act.
CLAIM_SECONDS = 60.0
MOST_ACTIONS = 3
ACTION_WINDOW_SECONDS = 3600.0


def claim(connection: Connection, incident: str, agent: str, action: str, now: float) -> bool:
    """Write down what is about to be done about an incident. False: another monitor did, or is doing it."""
    found = connection.execute(
        select(actions.c.claimed_at, actions.c.outcome)
        .where(actions.c.incident == incident)
        .with_for_update()
    ).first()
    if found is None:
        # Two monitors may have seen "none" at once; the primary key lets one of them in.
        row = {"incident": incident, "agent": agent, "action": action, "claimed_at": now}
        return insert_if_absent(connection, actions, row)
    if found.outcome is not None or found.claimed_at > now - CLAIM_SECONDS:
        return False
    renewed = update(actions).where(actions.c.incident == incident)
    connection.execute(renewed.values(action=action, claimed_at=now))
    return True


def conclude(connection: Connection, incident: str, outcome: str) -> None:
    """Write down how it went."""
    connection.execute(update(actions).where(actions.c.incident == incident).values(outcome=outcome))


def recent(connection: Connection, agent: str, now: float) -> int:
    """How many actions, warnings aside, hit an agent within the last hour."""
    within = (
        actions.c.agent == agent,
        actions.c.claimed_at > now - ACTION_WINDOW_SECONDS,
        actions.c.action != "warn",
    )
    return connection.execute(select(func.count()).select_from(actions).where(*within)).scalar_one()
