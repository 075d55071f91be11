"""A herdr that misbehaves: a real socket, where the test says what each connection is answered."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from pathlib import Path

Behaviour = Callable[[socket.socket], None]


class Listener:
    """Runs `behaviour` for each connection to `path`, one after the other, and hangs up."""

    def __init__(self, path: Path, behaviour: Behaviour) -> None:
        self.path, self._behaviour = path, behaviour
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
        if self._thread.is_alive():
            raise AssertionError("the behaviour never ends, not even when its client hangs up")


def answering(*parts: bytes) -> Behaviour:
    """Takes the request, sends the parts, hangs up."""

    def behave(connection: socket.socket) -> None:
        connection.recv(4096)
        for part in parts:
            connection.sendall(part)

    return behave


def silent(connection: socket.socket) -> None:
    """Takes the request and says nothing until the client hangs up."""
    while connection.recv(4096):
        pass
