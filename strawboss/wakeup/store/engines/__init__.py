"""The databases that the store can be in: a module each, with what `interface.Kind` asks for, and a line here."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, Engine

from strawboss.wakeup.store.engines import postgresql, sqlite
from strawboss.wakeup.store.engines.interface import Kind

KINDS: Mapping[str, Kind] = {"sqlite": sqlite, "postgresql": postgresql}


def kind_of(where: Connection | Engine) -> Kind:
    return KINDS[where.dialect.name]
