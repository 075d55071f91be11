import socket
import threading
import time

import psutil
import pytest
from standins.herdr.listener import answering, silent

from strawboss.herdr import wire
from strawboss.herdr.address import Address
from strawboss.herdr.wire import Lost, PipeChannel, Timeouts, connect, exchange

LINE = b'{"id":"1","method":"ping","params":{}}\n'
QUICK = Timeouts(connect=0.2, total=0.2)


def ask(address, timeouts=QUICK, clock=time.monotonic):
    return exchange(address, LINE, connect, timeouts, clock)


def dripping(connection):
    """A byte at a time, for ever: no single wait is long."""
    connection.recv(4096)
    while True:
        connection.sendall(b"{")
        time.sleep(0.01)


def huge(connection):
    connection.recv(4096)
    while True:
        connection.sendall(b"x" * 65536)


HOSTILE = {
    "hangs up at once": (lambda connection: None, "hung up|connection to herdr was lost"),
    "hangs up after the request": (answering(), "herdr hung up without a reply"),
    "sends half a line": (answering(b'{"id":"1"'), "herdr hung up in the middle of its reply"),
    "says nothing": (silent, "did not answer in time"),
    "drips": (dripping, "did not answer in time"),
}


def test_the_reply_is_the_first_line(listen):
    assert ask(listen(answering(b'{"id":', b'"1"}\n', b"more\n"))) == b'{"id":"1"}'


def test_the_whole_request_is_there_at_the_first_look(listen):
    seen = []

    def look(connection):
        seen.append(connection.recv(4096))
        connection.sendall(b"{}\n")

    ask(listen(look))
    assert seen == [LINE]


@pytest.mark.parametrize("how", HOSTILE)
def test_a_herdr_that_misbehaves_after_the_request_may_have_done_it(listen, how):
    behaviour, why = HOSTILE[how]
    lost = ask(listen(behaviour))
    assert isinstance(lost, Lost)
    assert lost.written
    assert any(part in lost.why for part in why.split("|"))


def test_a_reply_without_an_end_is_cut_off(listen, monkeypatch):
    monkeypatch.setattr(wire, "REPLY_LIMIT", 1024 * 1024)
    lost = ask(listen(huge), Timeouts(total=30))
    assert lost == Lost("herdr's reply is longer than 1 MiB", written=True)


def test_the_deadline_is_for_the_whole_exchange_on_the_monotonic_clock(listen):
    moments = iter([0.0, 0.1, 0.2, 99.0])
    lost = ask(listen(dripping), Timeouts(total=5), clock=lambda: next(moments))
    assert lost == Lost("herdr did not answer in time", written=True)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/nonexistent/herdr.sock", "No such file or directory"),
        ("/" + "x" * 200, "AF_UNIX path too long"),
        ("/proc/self/status", "Connection refused"),
        ("", "refused|Invalid argument"),
    ],
)
def test_without_a_listener_nothing_was_written(path, why):
    lost = ask(Address(path))
    assert isinstance(lost, Lost)
    assert not lost.written
    assert any(part in lost.why for part in why.split("|")), lost.why


def test_a_socket_nobody_serves_any_more_is_unreachable(short_directory):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(short_directory / "s"))
    assert ask(Address(str(short_directory / "s"))) == Lost(
        "herdr cannot be reached: Connection refused", written=False
    )


def test_a_full_backlog_is_unreachable_and_not_waited_for(short_directory):
    path = str(short_directory / "s")
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as first:
        listener.bind(path)
        listener.listen(0)
        first.connect(path)
        lost = ask(Address(path))
    assert isinstance(lost, Lost)
    assert not lost.written


def test_a_thousand_bad_exchanges_leak_no_descriptor(listen):
    addresses = [listen(answering()), listen(answering(b"{")), listen(answering(b"\xff\n"))]
    addresses.append(Address("/nonexistent/herdr.sock"))
    ask(addresses[0])
    before = psutil.Process().num_fds()
    for turn in range(1000):
        ask(addresses[turn % len(addresses)], Timeouts())
    # The listener's thread may still hold the last connection for a moment.
    assert psutil.Process().num_fds() <= before + len(addresses)


@pytest.fixture
def pipe():
    """A pipe as Windows gives it: a file that is read and written, and a way to ask how much waits in it."""
    ours, theirs = socket.socketpair()
    ours.setblocking(True)

    def waiting():
        ours.setblocking(False)
        try:
            data = ours.recv(65536, socket.MSG_PEEK)
        except BlockingIOError:
            return 0
        finally:
            ours.setblocking(True)
        if not data:
            raise BrokenPipeError
        return len(data)

    file = open(ours.fileno(), "r+b", buffering=0, closefd=False)  # noqa: SIM115 - closed by its channel
    yield PipeChannel(file, waiting), theirs
    ours.close()
    theirs.close()


def test_a_pipe_gives_what_waits_in_it(pipe):
    channel, herdr = pipe
    channel.send(LINE, 1)
    assert herdr.recv(4096) == LINE
    threading.Timer(0.02, herdr.sendall, [b"reply\n"]).start()
    assert channel.receive(4, 5) == b"repl"
    assert channel.receive(4, 5) == b"y\n"
    channel.close()


def test_a_pipe_whose_other_end_is_gone_has_ended(pipe):
    channel, herdr = pipe
    herdr.close()
    assert channel.receive(4, 1) == b""
    channel.close()


def test_a_silent_pipe_is_given_up_in_time(pipe):
    channel, _ = pipe
    with pytest.raises(TimeoutError):
        channel.receive(4, 0.02)
    channel.close()


def test_a_pipe_that_takes_a_part_of_the_request_is_broken():
    class Full:
        def write(self, data):
            return len(data) - 1

    with pytest.raises(BrokenPipeError):
        PipeChannel(Full(), lambda: 0).send(LINE, 1)
