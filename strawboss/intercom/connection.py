"""A conversation with the broker over one connection: frames out, the wanted frame in, nothing waits for ever."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from strawboss.intercom.address import Address, EndpointFile, NamedPipe
from strawboss.intercom.framing import Decoder, Frame, FrameError, encode
from strawboss.intercom.replies import Endpoint
from strawboss.system.printable import printable

CHUNK = 64 * 1024
LOOPBACK = "127.0.0.1"
NO_BROKER = "no intercom broker is running"
TOO_LATE = "the intercom broker did not answer in time"
SHOWN = 120  # characters of another program's words


class LostError(Exception):
    """The conversation is over, or never began; the message says why."""


class NobodyError(LostError):
    """No broker runs, so nobody can have told it anything."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds. A broker on this machine answers within milliseconds, unless it has to ask herdr for locations."""

    connect: float = 1.0
    total: float = 3.0
    receipt: float = 0.5  # for a receiver to say that it has the message
    leave: float = 0.5  # for the broker to see that we go, and to hang up itself


@dataclass(frozen=True, slots=True)
class Line:
    """An open connection. `secret`: what a TCP broker wants to see in `register`; "" elsewhere."""

    socket: socket.socket
    secret: str = ""


def connect(address: Address, seconds: float) -> Line:
    """Raises LostError: NobodyError when nobody listens."""
    try:
        return (
            _open_endpoint(address, seconds) if isinstance(address, EndpointFile) else _open(address, seconds)
        )
    except (FileNotFoundError, ConnectionRefusedError) as error:
        raise NobodyError(NO_BROKER) from error
    except OSError as error:
        raise LostError(f"the intercom broker cannot be reached: {error.strerror or error}") from error


def _open(address: Address, seconds: float) -> Line:
    if isinstance(address, NamedPipe):
        raise LostError("the intercom broker listens on a Windows pipe; set PI_INTERCOM_TRANSPORT=tcp for pi")
    return Line(_connected(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), address.path, seconds))


def _open_endpoint(address: EndpointFile, seconds: float) -> Line:
    try:
        endpoint = msgspec.json.decode(Path(address.path).read_bytes(), type=Endpoint)
    except ValueError as error:
        raise LostError(f"{address.path} names no intercom broker") from error
    if endpoint.host != LOOPBACK or not 0 < endpoint.port < 65536 or not endpoint.state_id:
        raise LostError(f"{address.path} names no intercom broker on this machine")
    tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    return Line(_connected(tcp, (endpoint.host, endpoint.port), seconds), endpoint.state_id)


def _connected(sock: socket.socket, target: str | tuple[str, int], seconds: float) -> socket.socket:
    try:
        sock.settimeout(seconds)
        sock.connect(target)
    except BaseException:
        sock.close()
        raise
    return sock


class Conversation:
    """Over an open socket, which it does not close. Raises LostError for whatever the broker does wrong."""

    def __init__(self, sock: socket.socket, clock: Callable[[], float], seconds: float) -> None:
        self._socket, self._clock, self._deadline = sock, clock, clock() + seconds
        self._decoder = Decoder()

    def say(self, frame: Frame) -> None:
        """Raises FrameError before a byte is written when the frame is too long."""
        data = encode(frame)
        try:
            self._socket.settimeout(self._left(self._deadline))
            self._socket.sendall(data)
        except OSError as error:
            raise _lost(error) from error

    def hear(self, wanted: Callable[[Frame], bool], within: float | None = None) -> Frame:
        """The next frame that is `wanted`, at the latest `within` seconds; others, of types known or not, are skipped.

        An `error` frame ends the conversation, as it does for the broker.
        """
        deadline = self._deadline if within is None else self._clock() + within
        while True:
            frame = self._next(deadline)
            if wanted(frame):
                return frame
            if frame["type"] == "error":
                raise LostError(f"the intercom broker refused: {shown(frame.get('error'))}")

    def leave(self, within: float) -> None:
        """Unregister, and let the broker hang up: it may still be writing to us, receipts above all. A broker of
        pi-intercom 0.11 whose starter is gone ends on the first write that fails, for everybody who is on it."""
        deadline = self._clock() + within
        with suppress(LostError, OSError):
            self.say({"type": "unregister"})
            self._socket.shutdown(socket.SHUT_WR)
            while True:
                self._receive(deadline)

    def _next(self, deadline: float) -> Frame:
        try:
            while (frame := self._decoder.next()) is None:
                self._decoder.feed(self._receive(deadline))
        except FrameError as error:
            raise LostError(str(error)) from error
        self._left(deadline)  # a broker that never stops talking must not hold us
        return frame

    def _receive(self, deadline: float) -> bytes:
        try:
            self._socket.settimeout(self._left(deadline))
            data = self._socket.recv(CHUNK)
        except OSError as error:
            raise _lost(error) from error
        if not data:
            raise LostError("the intercom broker hung up")
        return data

    def _left(self, deadline: float) -> float:
        seconds = deadline - self._clock()
        if seconds <= 0:
            raise LostError(TOO_LATE)
        return seconds


def shown(words: object) -> str:
    """Another program's words, as far as they are fit to be shown."""
    return printable(words[:SHOWN]) if isinstance(words, str) else "no reason given"


def _lost(error: OSError) -> LostError:
    if isinstance(error, TimeoutError):
        return LostError(TOO_LATE)
    return LostError(f"the connection to the intercom broker was lost: {error.strerror or error}")
