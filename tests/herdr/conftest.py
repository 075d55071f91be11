"""A herdr of one sentence: a real socket whose answer to every connection is given by the test."""

from __future__ import annotations

import contextlib
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from strawboss.herdr.address import Address

Behaviour = Callable[[socket.socket], None]


class Listener:
    """Runs `behaviour` for each connection, one after the other, as herdr does."""

    def __init__(self, path: Path, behaviour: Behaviour) -> None:
        self.address = Address(str(path))
        self._behaviour = behaviour
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                self._behaviour(connection)

    def stop(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(10)
        assert not self._thread.is_alive()


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
        return listeners[-1].address

    yield start
    for listener in listeners:
        listener.stop()
