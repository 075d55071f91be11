"""Tokens used by each agent; the limit is in the agent registry."""

from __future__ import annotations

from sqlalchemy import Connection, select, update

from strawboss.wakeup.store.insert import insert_if_absent
from strawboss.wakeup.store.schema import budgets


def spend(connection: Connection, agent: str, tokens: int) -> int:
    """Add to what an agent has used; returns the new sum."""
    insert_if_absent(connection, budgets, {"agent": agent, "used": 0})
    connection.execute(update(budgets).where(budgets.c.agent == agent).values(used=budgets.c.used + tokens))
    return used(connection, agent)


def reset(connection: Connection, agent: str) -> int:
    """Start the count anew; returns what had been used."""
    before = used(connection, agent)
    connection.execute(update(budgets).where(budgets.c.agent == agent).values(used=0))
    return before


def used(connection: Connection, agent: str) -> int:
    """Tokens used by one agent so far."""
    return connection.execute(select(budgets.c.used).where(budgets.c.agent == agent)).scalar() or 0


def all_used(connection: Connection) -> dict[str, int]:
    """Tokens used, by agent."""
    return {row.agent: row.used for row in connection.execute(select(budgets))}
