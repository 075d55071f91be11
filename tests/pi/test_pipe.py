"""Waiting for the extension's pipe, both ways of it."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from threading import Event

import pytest

from strawboss.pi.pipe import LAST_WORD_SECONDS, Read, has_ended, polled, reader, threaded, write_whole

Open = Callable[[int], Read]


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Reading end, writing end; what a test closes stays closed."""
    ends = os.pipe()
    yield ends
    for end in ends:
        try:
            os.close(end)
        except OSError:
            continue


def waited(read: Read, seconds: float) -> tuple[bytes | None, float]:
    before = time.monotonic()
    return read(seconds), time.monotonic() - before


OPENINGS = pytest.mark.parametrize(
    "opened", [polled, lambda fd: threaded(fd, lambda _: None)], ids=["poll", "thread"]
)


@OPENINGS
def test_what_was_written_is_read_at_once(opened: Open, pipe: tuple[int, int]) -> None:
    read = opened(pipe[0])
    os.write(pipe[1], b"hello\n")
    assert waited(read, 5)[0] == b"hello\n"


@OPENINGS
def test_without_news_the_wait_ends_after_its_time(opened: Open, pipe: tuple[int, int]) -> None:
    chunk, seconds = waited(opened(pipe[0]), 0.05)
    assert chunk is None
    assert 0.04 < seconds < 2


@OPENINGS
def test_a_wait_that_is_already_over_still_looks(opened: Open, pipe: tuple[int, int]) -> None:
    assert opened(pipe[0])(-1) is None


@OPENINGS
def test_the_end_of_the_pipe_is_no_bytes_and_ends_a_long_wait(opened: Open, pipe: tuple[int, int]) -> None:
    read = opened(pipe[0])
    os.close(pipe[1])
    chunk, seconds = waited(read, 30)
    assert chunk == b""
    assert seconds < 5


def test_a_thread_whose_process_stays_busy_after_the_end_leaves_for_it(pipe: tuple[int, int]) -> None:
    left, codes = Event(), []

    def leave(code: int) -> None:
        codes.append(code)
        left.set()

    threaded(pipe[0], leave)
    os.close(pipe[1])
    assert left.wait(LAST_WORD_SECONDS + 5)
    assert codes == [0]


def test_a_thread_whose_process_took_the_end_in_does_not(pipe: tuple[int, int]) -> None:
    left = Event()
    read = threaded(pipe[0], lambda _: left.set())
    os.close(pipe[1])
    assert read(5) == b""
    assert not left.wait(LAST_WORD_SECONDS + 0.2)


@pytest.mark.parametrize(
    ("platform", "kind"), [("linux", "polled"), ("darwin", "polled"), ("win32", "threaded")]
)
def test_only_windows_reads_with_a_thread(platform: str, kind: str, pipe: tuple[int, int]) -> None:
    read = reader(pipe[0], platform)
    assert read.__qualname__.startswith(kind)
    os.write(pipe[1], b"x")
    assert read(5) == b"x"
    if kind == "threaded":  # its thread must see an end that is taken in
        os.close(pipe[1])
        assert read(5) == b""


def test_a_reset_is_an_end() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        ours.sendall(b"unread")
        theirs.close()
        assert polled(ours.fileno())(5) == b""


@pytest.mark.parametrize("unread", [b"", b"words nobody read"])
def test_a_closed_pipe_has_ended_whatever_is_still_unread(unread: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours:
        theirs.sendall(unread)
        assert not has_ended(ours.fileno())
        theirs.close()
        assert has_ended(ours.fileno())


def test_a_half_closed_socket_has_ended_too() -> None:
    """What node's `stdin.end()` does."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.shutdown(socket.SHUT_WR)
        assert has_ended(ours.fileno())


def test_a_long_line_is_written_whole() -> None:
    ours, theirs = socket.socketpair()
    line = b"x" * 3_000_000 + b"\n"
    with ours, theirs:
        from threading import Thread

        writer = Thread(target=write_whole, args=(ours.fileno(), line))
        writer.start()
        got = b""
        while len(got) < len(line):
            got += theirs.recv(1 << 20)
        writer.join()
    assert got == line
