"""Waiting for the extension's pipe: one small function a platform, so that nothing else has to know.

Unix polls the descriptor. Windows cannot wait for a pipe, so there, and only there, a thread reads it.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable

CHUNK = 64 * 1024
# How long a process whose pipe has ended may still be busy on Windows, where nothing can interrupt it.
LAST_WORD_SECONDS = 0.8

# Bytes that came within so many seconds: None for none, b"" at the end.
Read = Callable[[float], bytes | None]


def reader(descriptor: int, platform: str = sys.platform) -> Read:
    """How to wait for `descriptor` on this platform."""
    return threaded(descriptor) if platform == "win32" else polled(descriptor)


def polled(descriptor: int) -> Read:
    """One `poll` a wait, no thread."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)

    def read(seconds: float) -> bytes | None:
        return _read(descriptor) if poll.poll(max(seconds, 0) * 1000) else None

    return read


def threaded(descriptor: int, leave: Callable[[int], object] = os._exit) -> Read:
    """A daemon thread reads ahead; after the end it gives the process a last word and then leaves for it."""
    import threading
    from queue import Empty, SimpleQueue

    chunks: SimpleQueue[bytes] = SimpleQueue()
    done = threading.Event()

    def read_ahead() -> None:
        while chunk := _read(descriptor):
            chunks.put(chunk)
        chunks.put(b"")
        if not done.wait(LAST_WORD_SECONDS):
            leave(0)

    def read(seconds: float) -> bytes | None:
        try:
            chunk = chunks.get(timeout=max(seconds, 0))
        except Empty:
            return None
        if not chunk:
            done.set()
        return chunk

    threading.Thread(target=read_ahead, daemon=True).start()
    return read


def write_whole(descriptor: int, line: bytes) -> None:
    """Write all of `line`; raises OSError."""
    while line:
        line = line[os.write(descriptor, line) :]


def _read(descriptor: int) -> bytes:
    """b"" at the end, also at a reset: node's pipes are sockets, and a killed pi leaves its last words unread."""
    try:
        return os.read(descriptor, CHUNK)
    except OSError:
        return b""


def has_ended(descriptor: int) -> bool:
    """Whether the other end is closed, unread bytes or not. Unix only."""
    poll = select.poll()
    poll.register(descriptor, getattr(select, "POLLRDHUP", 0))
    return any(
        events & (select.POLLHUP | select.POLLERR | getattr(select, "POLLRDHUP", 0))
        for _, events in poll.poll(0)
    )
