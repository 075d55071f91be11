"""The server: one thread, one loop over the API socket, its connections and the terminals of all panes."""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

from standins.herdr import methods
from standins.herdr.lookup import RefusedError
from standins.herdr.session import Session

REQUEST_LIMIT = 1024 * 1024
REQUEST_SECONDS = 5.0
TICK_SECONDS = 0.3
EVENTS_KEPT = 512


class Connection:
    """One client: it sends one line, gets one line, and is gone, unless it subscribed to events."""

    def __init__(self, server: Server, peer: socket.socket) -> None:
        self._server, self._peer, self._request = server, peer, b""
        self.deadline: float | None = time.monotonic() + REQUEST_SECONDS
        self.topics: set[str] = set()
        peer.settimeout(REQUEST_SECONDS)

    def fileno(self) -> int:
        return self._peer.fileno()

    def ready(self) -> None:
        try:
            data = self._peer.recv(65536)
        except OSError:
            data = b""
        self._request += data
        # A subscriber that says another word is given up, like one that hangs up or never ends its line.
        if not data or self.topics or len(self._request) > REQUEST_LIMIT:
            self.close()
        elif b"\n" in self._request:
            self.deadline = None
            self._answer(self._request.partition(b"\n")[0])

    def _answer(self, line: bytes) -> None:
        try:
            text = line.decode()
        except UnicodeDecodeError:
            self.close()
            return
        reply = self._server.reply(text, self)
        self.send(reply)
        for event in self._server.past(self.topics):
            self.send(event)
        if not self.topics:
            self.close()

    def send(self, message: dict[str, Any]) -> None:
        try:
            self._peer.sendall(
                json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
            )
        except OSError:
            self.close()

    def close(self) -> None:
        self._server.forget(self)
        self._peer.close()


class Server:
    def __init__(self, socket_path: Path, data: Path, command: str) -> None:
        data.mkdir(parents=True, exist_ok=True)
        self._path, self._log = socket_path, data / "requests.jsonl"
        self._session = Session(data, socket_path, command)
        self._session.emit = self.emit
        self._events: deque[dict[str, Any]] = deque(maxlen=EVENTS_KEPT)
        self._connections: list[Connection] = []
        self._listener = _listen(socket_path)

    def run(self) -> None:
        """Serve until told to stop, then save."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: setattr(self._session, "stopping", True))
        self._session.restore()
        self._session.plugins.start()
        due = 0.0
        while not self._session.stopping:
            self._serve(max(0.0, due - time.monotonic()))
            if time.monotonic() >= due:
                self._session.tick()
                self._drop_slow()
                due = time.monotonic() + TICK_SECONDS
        self._session.save()
        self._session.plugins.close_popup()
        self._path.unlink(missing_ok=True)

    def _serve(self, seconds: float) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ, self._accept)
            for connection in self._connections:
                selector.register(connection, selectors.EVENT_READ, connection.ready)
            for pane in self._session.layout.panes():
                if pane.terminal:
                    selector.register(
                        pane.terminal.master, selectors.EVENT_READ, lambda p=pane: self._session.read(p)
                    )
            ready = selector.select(seconds)
        for key, _ in ready:
            key.data()

    def _accept(self) -> None:
        peer, _ = self._listener.accept()
        self._connections.append(Connection(self, peer))

    def forget(self, connection: Connection) -> None:
        if connection in self._connections:
            self._connections.remove(connection)

    def _drop_slow(self) -> None:
        now = time.monotonic()
        for connection in list(self._connections):
            if connection.deadline is not None and now >= connection.deadline:
                connection.close()

    def reply(self, line: str, connection: Connection) -> dict[str, Any]:
        try:
            request = _parse(line)
        except ValueError as error:
            return _failure("", "invalid_request", f"invalid request: {error}")
        self._write_down(request)
        try:
            return {"id": request["id"], "result": self._result(request, connection)}
        except RefusedError as error:
            name = "" if error.code == "invalid_request" else request["id"]
            return _failure(name, error.code, error.message)

    def _result(self, request: dict[str, Any], connection: Connection) -> dict[str, Any]:
        if request["method"] == "events.subscribe":
            wanted = request["params"].get("subscriptions", [])
            connection.topics = {one["type"].replace(".", "_") for one in wanted}
            return {"type": "subscription_started"}
        return methods.call(self._session, request["method"], request["params"])

    def _write_down(self, request: dict[str, Any]) -> None:
        """Before anything is done: what the server was asked must be known even if it dies doing it."""
        told = {"at": time.time(), **{name: request[name] for name in ("id", "method", "params")}}
        with self._log.open("a") as file:
            file.write(json.dumps(told) + "\n")

    def emit(self, kind: str, **data: Any) -> None:
        event = {"event": kind, "data": {"type": kind, **data}}
        self._events.append(event)
        for connection in list(self._connections):
            if kind in connection.topics:
                connection.send(event)

    def past(self, topics: set[str]) -> list[dict[str, Any]]:
        """What a new subscriber is told first."""
        return [event for event in self._events if event["event"] in topics]


def _parse(line: str) -> dict[str, Any]:
    """Raises ValueError."""
    request = json.loads(line)
    if not isinstance(request, dict):
        raise ValueError("expected an object")
    for name, kind in (("id", str), ("method", str), ("params", dict)):
        if name not in request:
            raise ValueError(f"missing field `{name}`")
        if not isinstance(request[name], kind):
            raise ValueError(f"invalid type of `{name}`, expected a {kind.__name__}")
    return request


def _failure(request_id: str, code: str, message: str) -> dict[str, Any]:
    return {"id": request_id, "error": {"code": code, "message": message}}


def _listen(path: Path) -> socket.socket:
    """Raises OSError; a socket file nobody serves any more is replaced."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            path.unlink(missing_ok=True)
        else:
            sys.exit(f"error: herdr server is already running\napi socket: {path}")
    listener = socket.socket(socket.AF_UNIX)
    old = os.umask(0o177)
    try:
        listener.bind(str(path))
    finally:
        os.umask(old)
    listener.listen(128)
    return listener


def main(socket_path: str, data: str, command: str) -> None:
    server = Server(Path(socket_path), Path(data), command)
    print(f"herdr server ready on {socket_path}", file=sys.stderr, flush=True)  # noqa: T201 - its ready text
    server.run()
