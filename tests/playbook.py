"""Tests that read like the conversation: `asks` expects a command and answers it, `ends` runs the script.

    Playbook(check(...)).asks(ReadRegistry(), frozenset()).asks(ReadRuns(), {}).ends(Look(...))

A script that was written and never run fails its test: `never_run`, which tests/conftest.py calls after each test.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

from strawboss.recovery.commands import Command

T = TypeVar("T")
Expected = Command | type | Callable[[Any], bool]

_written: list[Playbook[Any]] = []


class Playbook(Generic[T]):
    def __init__(self, generator: Generator[Any, Any, T]) -> None:
        self._generator = generator
        self._script: list[tuple[Expected, Any]] = []
        self._ran = False
        _written.append(self)

    def asks(self, expected: Expected, answer: Any = None) -> Playbook[T]:
        """The next command: itself, its type where its fields do not matter, or a function that accepts it."""
        self._script.append((expected, answer))
        return self

    def ends(self, *result: T) -> T:
        """Run the script to its end; returns what the generator returned, compared with `result` if given."""
        self._ran = True
        said: list[Command] = []
        answer: Any = None
        for expected, next_answer in self._script:
            try:
                command = self._generator.send(answer)
            except StopIteration:
                raise AssertionError(f"ended after {said}, never asked {expected}") from None
            assert _is(command, expected), f"after {said}: {command} instead of {expected}"
            said.append(command)
            answer = next_answer
        try:
            command = self._generator.send(answer)
        except StopIteration as stop:
            returned: T = stop.value
        else:
            raise AssertionError(f"after {said}: goes on with {command}")
        assert not result or returned == result[0], returned
        return returned


def never_run() -> list[Playbook[Any]]:
    """The scripts that were written since the last call and never run."""
    idle = [book for book in _written if not book._ran]
    _written.clear()
    return idle


def _is(command: Command, expected: Expected) -> bool:
    if isinstance(expected, type):
        return isinstance(command, expected)
    return expected(command) if callable(expected) else command == expected
