"""One request line out, one reply line back, on a connection of its own.

herdr reads one line per connection and sleeps when it is not there at the first look, so the whole line
leaves in one write right after connecting. Nothing here waits beyond its deadline or keeps more than
REPLY_LIMIT bytes.
"""

from __future__ import annotations

import contextlib
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from strawboss.herdr.address import Address

# A pane costs some 600 bytes of a list; herdr itself sets no limit.
REPLY_LIMIT = 8 * 1024 * 1024
CHUNK = 64 * 1024
PIPE_POLL_SECONDS = 0.005


class Channel(Protocol):
    """A connection. `seconds`: how long to wait at most; running out of them raises TimeoutError."""

    def send(self, line: bytes, seconds: float) -> None: ...
    def receive(self, limit: int, seconds: float) -> bytes: ...  # b"" at the end
    def close(self) -> None: ...


Connect = Callable[[Address, float], Channel]


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds. A `pane.close` keeps herdr busy for up to 0.75 s, and it serves one request at a time."""

    connect: float = 2.0
    total: float = 5.0


@dataclass(frozen=True, slots=True)
class Lost:
    """No reply, and why. `written`: herdr may have the request, so what it asked for may have happened."""

    why: str
    written: bool


class ReplyLostError(Exception):
    """A reply that cannot come any more; the message says why."""


def exchange(
    address: Address, line: bytes, connect: Connect, timeouts: Timeouts, clock: Callable[[], float]
) -> bytes | Lost:
    """The reply line without its newline, or how it was lost. Raises for nothing herdr or the system does."""
    deadline = clock() + timeouts.total
    try:
        channel = connect(address, timeouts.connect)
    except (OSError, ValueError) as error:
        return Lost(f"herdr cannot be reached: {_reason(error)}", written=False)
    with contextlib.closing(channel):
        try:
            channel.send(line, _left(deadline, clock))
            return _read_line(channel, deadline, clock)
        except ReplyLostError as error:
            return Lost(str(error), written=True)
        except OSError as error:
            return Lost(f"the connection to herdr was lost: {_reason(error)}", written=True)


def _read_line(channel: Channel, deadline: float, clock: Callable[[], float]) -> bytes:
    reply = bytearray()
    while len(reply) <= REPLY_LIMIT:
        chunk = channel.receive(CHUNK, _left(deadline, clock))
        reply += chunk
        if b"\n" in chunk:
            return bytes(reply.partition(b"\n")[0])
        if not chunk:
            how = "in the middle of its reply" if reply else "without a reply"
            raise ReplyLostError(f"herdr hung up {how}")
    raise ReplyLostError(f"herdr's reply is longer than {REPLY_LIMIT >> 20} MiB")


def _left(deadline: float, clock: Callable[[], float]) -> float:
    seconds = deadline - clock()
    if seconds <= 0:
        raise ReplyLostError("herdr did not answer in time")
    return seconds


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


class SocketChannel:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def send(self, line: bytes, seconds: float) -> None:
        self._connection.settimeout(seconds)
        self._connection.sendall(line)

    def receive(self, limit: int, seconds: float) -> bytes:
        self._connection.settimeout(seconds)
        return self._connection.recv(limit)

    def close(self) -> None:
        self._connection.close()


class PipeFile(Protocol):
    """The part of an unbuffered file that a pipe needs."""

    def write(self, data: bytes, /) -> int | None: ...
    def read(self, size: int, /) -> bytes | None: ...
    def close(self) -> None: ...


class PipeChannel:
    """A Windows pipe, opened as a file. No read can time out, so it waits until `waiting` sees bytes."""

    def __init__(
        self, pipe: PipeFile, waiting: Callable[[], int], sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._pipe, self._waiting, self._sleep = pipe, waiting, sleep

    def send(self, line: bytes, seconds: float) -> None:  # noqa: ARG002 - a line fits the pipe's buffer
        if self._pipe.write(line) != len(line):
            raise BrokenPipeError("the pipe took a part of the request only")

    def receive(self, limit: int, seconds: float) -> bytes:
        deadline = time.monotonic() + seconds
        while True:
            try:
                ready = self._waiting()
            except BrokenPipeError:
                return b""
            if ready:
                return self._pipe.read(min(limit, ready)) or b""
            if time.monotonic() >= deadline:
                raise TimeoutError
            self._sleep(PIPE_POLL_SECONDS)

    def close(self) -> None:
        self._pipe.close()


if sys.platform == "win32":
    import _winapi
    import msvcrt

    def connect(address: Address, seconds: float) -> Channel:
        """Raises OSError. Every instance of a pipe can be taken for a moment; only a missing one is final."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                return _open_pipe(address.pipe)
            except FileNotFoundError:
                raise
            except OSError:
                if time.monotonic() >= deadline:
                    raise
            time.sleep(PIPE_POLL_SECONDS)

    def _open_pipe(name: str) -> Channel:
        pipe = open(name, "r+b", buffering=0)  # noqa: SIM115, PTH123 - a pipe is no path; its channel closes it
        handle = msvcrt.get_osfhandle(pipe.fileno())
        return PipeChannel(pipe, lambda: int(_winapi.PeekNamedPipe(handle, 0)[0]))

else:

    def connect(address: Address, seconds: float) -> Channel:
        """Raises OSError, ValueError for a path no socket can have."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(seconds)
            connection.connect(address.path)
        except BaseException:
            connection.close()
            raise
        return SocketChannel(connection)
