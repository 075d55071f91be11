from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from standins.herdr.listener import Behaviour, Listener

from strawboss.herdr.address import Address


@pytest.fixture
def short_directory() -> Iterator[Path]:
    """A socket's path has some 100 characters at most, pytest's own directories can be longer."""
    with tempfile.TemporaryDirectory(prefix="sb-", dir="/tmp") as directory:
        yield Path(directory)


@pytest.fixture
def listen(short_directory: Path) -> Iterator[Callable[[Behaviour], Address]]:
    """`listen(behaviour)` gives the address of a herdr that behaves so."""
    listeners: list[Listener] = []

    def start(behaviour: Behaviour) -> Address:
        listeners.append(Listener(short_directory / f"{len(listeners)}.sock", behaviour))
        return Address(str(listeners[-1].path))

    yield start
    for listener in listeners:
        listener.stop()
