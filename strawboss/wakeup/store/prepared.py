"""A statement that is asked again and again, put together once for each database.

SQLAlchemy looks a statement up, expands its lists and prepares its parameters at every call; for a checkout that is
more than the database takes. What it made the first time is sent by itself after that, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, CursorResult, UpdateBase
from sqlalchemy.sql.compiler import ExpandedState


class Prepared:
    """One statement, whatever its parameters. A list among them makes another statement for each length."""

    def __init__(self, statement: UpdateBase) -> None:
        self._statement = statement
        self._made: dict[tuple[object, ...], ExpandedState] = {}

    def execute(self, connection: Connection, parameters: Mapping[str, Any]) -> CursorResult[Any]:
        """As `Connection.execute` does it. Raises what that raises."""
        made = self._for(connection, parameters)
        values = {**made.parameters, **parameters}
        for name in made.parameter_expansion.keys() & parameters.keys():
            values.update(zip(made.parameter_expansion[name], parameters[name], strict=True))
        if made.positiontup is None:
            return connection.exec_driver_sql(made.statement, values)
        return connection.exec_driver_sql(made.statement, tuple([values[name] for name in made.positiontup]))

    def _for(self, connection: Connection, parameters: Mapping[str, Any]) -> ExpandedState:
        # The names belong to it: one that is left out must not have the value that it had at another call.
        shape = [(name, len(one) if isinstance(one, list) else None) for name, one in parameters.items()]
        key = (connection.dialect.name, *shape)
        if key not in self._made:
            made = self._statement.compile(dialect=connection.dialect).construct_expanded_state(parameters)
            # They would have to be asked on each call: no type of the store needs any.
            assert not made.processors, made.processors
            self._made[key] = made
        return self._made[key]
