"""Runs a generator of the core by itself."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeVar

from strawboss.recovery.commands import Command

T = TypeVar("T")


def drive(generator: Generator[Command, Any, T], answer_to: Callable[[Command], Any]) -> T:
    """Run a look to its end with these answers."""
    answer = None
    while True:
        try:
            command = generator.send(answer)
        except StopIteration as stop:
            result: T = stop.value
            return result
        answer = answer_to(command)
