"""The line to the extension: asks and waits for the answer, hears what comes meanwhile, notices its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import count
from typing import TypeVar

import msgspec

from strawboss.pi import protocol
from strawboss.pi.pipe import Read
from strawboss.pi.protocol import Message
from strawboss.recovery.verdict import Unknown
from strawboss.system.printable import printable

T = TypeVar("T")

LINE_LIMIT = 1024 * 1024  # bytes; a registry of a thousand runs takes some 40 kB
ANSWER_SECONDS = 5.0
REASON_LENGTH = 200


class Refused(Unknown):
    """The extension answered that it could not do it."""


class ExtensionGoneError(BaseException):
    """The session is over, so this process is too. No `except Exception` may stand in its way."""


class Link:
    """JSON-RPC over two pipes, one thread.

    `heard` gets each request and notification, also in the middle of an `ask`; `junk` is told why a line was ignored.
    """

    def __init__(
        self,
        read: Read,
        write: Callable[[bytes], object],
        heard: Callable[[Message], None],
        junk: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read, self._write, self._heard, self._junk, self._clock = read, write, heard, junk, clock
        self._numbers = count(1)
        self._awaited: int | None = None
        self._answer: Message | None = None
        self._rest = b""
        self._skipping = False

    def ask(
        self, method: str, params: Mapping[str, object], shape: type[T], seconds: float = ANSWER_SECONDS
    ) -> T | Unknown:
        """The extension's answer as `shape`; Unknown when it refuses, says something else or stays silent."""
        self._awaited, self._answer = next(self._numbers), None
        self.send(protocol.request(self._awaited, method, params))
        self.wait(seconds, lambda: self._answer is not None)
        answer, self._awaited = self._answer, None
        if answer is None:
            return Unknown(f"the extension did not answer {method} in time")
        if answer.error is not None:
            return Refused(
                f"the extension refused {method}: {printable(answer.error.message)[:REASON_LENGTH]}"
            )
        try:
            return msgspec.json.decode(answer.result, type=shape)
        except msgspec.DecodeError as error:
            return Unknown(f"the extension's answer to {method} cannot be understood: {error}")

    def wait(self, seconds: float, enough: Callable[[], bool] = lambda: False) -> None:
        """Hear whatever comes for so long, or until `enough`; raises ExtensionGoneError at the pipe's end."""
        deadline = self._clock() + seconds
        while not enough():
            left = deadline - self._clock()
            chunk = self._read(max(left, 0))
            if chunk is not None:
                self._take(chunk)
            if left <= 0:
                return

    def send(self, line: bytes) -> None:
        try:
            self._write(line)
        except OSError as error:
            raise ExtensionGoneError from error

    def _take(self, chunk: bytes) -> None:
        if not chunk:
            raise ExtensionGoneError
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._take_line(line)
        if len(self._rest) > LINE_LIMIT:
            self._rest, self._skipping = b"", True

    def _take_line(self, line: bytes) -> None:
        if self._skipping or len(line) > LINE_LIMIT:
            self._skipping = False
            return self._junk("a line was too long")
        try:
            message = msgspec.json.decode(line, type=Message)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return self._junk(f"a line cannot be understood: {error}")
        if message.method is not None:
            return self._heard(message)
        if message.id is None or message.id != self._awaited:
            return self._junk("an answer came that nobody waits for")
        self._answer = message
        return None
