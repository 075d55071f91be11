from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

import pytest
from sqlalchemy import Connection

from strawboss.wakeup.store.engines import KINDS, kind_of
from strawboss.wakeup.store.engines.interface import Kind

ASKED = {name for name, _ in inspect.getmembers(Kind, inspect.isfunction) if not name.startswith("_")}


@pytest.mark.parametrize("name", KINDS)
def test_each_answers_all_that_the_store_must_know(name: str) -> None:
    kind: Any = KINDS[name]
    assert isinstance(kind, ModuleType)
    assert kind.__name__.endswith(f".{name}")
    assert kind.SERIAL.endswith("PRIMARY KEY")
    assert set(vars(kind)) >= ASKED
    assert len(ASKED) == 9


def test_what_a_store_is_in_is_told_from_any_of_its_connections(connection: Connection) -> None:
    assert kind_of(connection) is kind_of(connection.engine) is KINDS[connection.dialect.name]
    assert list(kind_of(connection).faults(connection)) == []
