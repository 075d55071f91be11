"""pi-intercom's frames: four bytes of big-endian length, then so many bytes of JSON, an object with a `type`."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import msgspec

LIMIT = 1024 * 1024  # bytes of JSON; exactly so many pass
HEADER = struct.Struct(">I")

Frame = Mapping[str, Any]


class FrameError(Exception):
    """Bytes that are no frame, or a frame too long to be sent; the message says which."""


def encode(frame: Frame) -> bytes:
    """The bytes of one frame. Raises FrameError for what no broker could read."""
    try:
        payload = msgspec.json.encode(frame)
    except UnicodeEncodeError as error:  # half a surrogate pair: a path or a name that was no UTF-8
        raise FrameError("the text is no UTF-8") from error
    if len(payload) > LIMIT:
        raise FrameError(f"a frame of {len(payload)} bytes is too long for the broker")
    return HEADER.pack(len(payload)) + payload


class Decoder:
    """Bytes in as they come, frames out one at a time, however the bytes were split."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def next(self) -> Frame | None:
        """The next whole frame, or None until more bytes come. Raises FrameError, and goes on raising it."""
        if len(self._buffer) < HEADER.size:
            return None
        (length,) = HEADER.unpack_from(self._buffer)
        if length > LIMIT:
            raise FrameError("the broker announced a frame longer than 1 MiB")
        end = HEADER.size + length
        if len(self._buffer) < end:
            return None
        frame = _parse(bytes(self._buffer[HEADER.size : end]))
        del self._buffer[:end]
        return frame


def _parse(payload: bytes) -> Frame:
    try:
        frame = msgspec.json.decode(payload)
    except (ValueError, RecursionError) as error:  # msgspec's errors and those of bad UTF-8 are ValueErrors
        raise FrameError("the broker sent a frame that is no JSON") from error
    if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
        raise FrameError("the broker sent a frame without a type")
    return frame
