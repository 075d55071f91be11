"""Hostile and absent brokers, over real sockets; the clock is the test's where time matters."""

import json
import socket
import struct
import threading
import time
from contextlib import closing

import pytest

from strawboss.intercom.address import EndpointFile, NamedPipe, UnixSocket
from strawboss.intercom.connection import NO_BROKER, Conversation, LostError, connect, shown
from strawboss.intercom.framing import FrameError, encode


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    with closing(ours), closing(theirs):
        yield ours, theirs


def conversation(sock, seconds=5.0, clock=time.monotonic):
    return Conversation(sock, clock, seconds)


def hears(kind):
    return lambda frame: frame["type"] == kind


def test_frames_that_are_not_wanted_are_skipped_whatever_their_type(pair):
    ours, theirs = pair
    theirs.sendall(
        encode({"type": "session_joined"}) + encode({"type": "from-tomorrow"}) + encode({"type": "sessions"})
    )
    assert conversation(ours).hear(hears("sessions")) == {"type": "sessions"}


@pytest.mark.parametrize(
    ("bytes_sent", "why"),
    [
        (b"", "hung up"),
        (b"\x00\x00", "hung up"),
        (encode({"type": "sessions"})[:-1], "hung up"),
        (struct.pack(">I", 2**32 - 1), "longer than 1 MiB"),
        (struct.pack(">I", 9) + b"<garbage>", "no JSON"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "longer than 1 MiB"),
        (
            encode({"type": "error", "error": "no\x1b[31m room" + "!" * 500}),
            r"refused: no \[31m room!{100,120}$",
        ),
        (encode({"type": "error", "error": {"no": "text"}}), "refused: no reason given"),
    ],
)
def test_a_broker_that_breaks_the_rules_ends_the_conversation_with_a_reason(pair, bytes_sent, why):
    ours, theirs = pair
    theirs.sendall(bytes_sent)
    theirs.shutdown(socket.SHUT_WR)
    with pytest.raises(LostError, match=why):
        conversation(ours).hear(hears("sessions"))


def test_a_broker_that_says_nothing_is_not_waited_for_beyond_the_deadline(pair):
    ours, _ = pair
    with pytest.raises(LostError, match="in time"):
        conversation(ours, seconds=0.02).hear(hears("sessions"))


def test_a_broker_that_never_stops_talking_is_not_listened_to_beyond_the_deadline(pair):
    ours, theirs = pair
    ticks = iter(range(1000))
    theirs.sendall(encode({"type": "news"}) * 500)
    with pytest.raises(LostError, match="in time"):
        conversation(ours, seconds=20, clock=lambda: float(next(ticks))).hear(hears("sessions"))


def test_a_broker_that_reads_nothing_does_not_hold_a_long_frame_beyond_the_deadline(pair):
    ours, _ = pair
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 10_000)
    with pytest.raises(LostError, match="in time"):
        conversation(ours, seconds=0.05).say({"type": "send", "text": "x" * 1_000_000})


def test_speaking_to_a_broker_that_has_gone_is_a_lost_conversation(pair):
    ours, theirs = pair
    theirs.close()
    with pytest.raises(LostError, match="was lost"):
        conversation(ours).say({"type": "list"})


def test_a_frame_that_is_too_long_is_refused_before_a_byte_is_written(pair):
    ours, theirs = pair
    with pytest.raises(FrameError):
        conversation(ours).say({"type": "send", "text": "x" * 2_000_000})
    theirs.setblocking(False)
    with pytest.raises(BlockingIOError):
        theirs.recv(1)


def test_nobody_listening_is_no_broker(tmp_path):
    missing, dead = tmp_path / "a.sock", tmp_path / "b.sock"
    with closing(socket.socket(socket.AF_UNIX)) as left_behind:
        left_behind.bind(str(dead))
    for path in (missing, dead):
        with pytest.raises(LostError, match=f"^{NO_BROKER}$"):
            connect(UnixSocket(str(path)), 1)


def test_a_path_no_socket_can_have_is_a_reason_and_no_traceback():
    with pytest.raises(LostError, match="cannot be reached: AF_UNIX path too long"):
        connect(UnixSocket("/" + "x" * 200), 1)


def test_a_windows_pipe_is_not_spoken_and_the_way_out_is_named():
    with pytest.raises(LostError, match="PI_INTERCOM_TRANSPORT=tcp"):
        connect(NamedPipe(r"\\.\pipe\pi-intercom-x"), 1)


def endpoint_file(tmp_path, **changes):
    fields = {"transport": "tcp", "host": "127.0.0.1", "port": 1, "stateId": "s"} | changes
    file = tmp_path / "broker.port.json"
    file.write_text(json.dumps(fields))
    return EndpointFile(str(file))


def test_a_tcp_broker_is_found_by_its_file_and_shown_its_secret(tmp_path):
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        line = connect(endpoint_file(tmp_path, port=server.getsockname()[1], stateId="secret"), 1)
        with closing(line.socket), closing(server.accept()[0]) as accepted:
            line.socket.sendall(b"x")
            assert (accepted.recv(1), line.secret) == (b"x", "secret")


def test_a_tcp_broker_that_has_gone_is_no_broker(tmp_path):
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
    with pytest.raises(LostError, match=f"^{NO_BROKER}$"):
        connect(endpoint_file(tmp_path, port=port), 1)
    with pytest.raises(LostError, match=f"^{NO_BROKER}$"):
        connect(EndpointFile(str(tmp_path / "missing.json")), 1)


@pytest.mark.parametrize(
    "changes",
    [{"host": "10.0.0.1"}, {"port": 0}, {"port": 65536}, {"port": "1"}, {"stateId": ""}, {"stateId": None}],
)
def test_an_endpoint_file_that_names_no_port_of_this_machine_is_not_followed(tmp_path, changes):
    with pytest.raises(LostError, match="names no intercom broker"):
        connect(endpoint_file(tmp_path, **changes), 1)


def test_a_torn_endpoint_file_is_a_reason_and_no_traceback(tmp_path):
    file = tmp_path / "broker.port.json"
    file.write_bytes(b'{"transport":"tcp","ho')
    with pytest.raises(LostError, match="names no intercom broker"):
        connect(EndpointFile(str(file)), 1)


def test_a_broker_whose_backlog_is_full_is_not_waited_for(tmp_path):
    path = str(tmp_path / "s")
    with closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind(path)
        server.listen(0)
        waiting = [connect(UnixSocket(path), 1).socket]
        with pytest.raises(LostError, match="cannot be reached"):
            connect(UnixSocket(path), 0.02)
        for sock in waiting:
            sock.close()


def test_a_brokers_words_are_shown_as_one_short_line():
    assert shown("a\nb\tc\x1b\u202e") == "a b c  "
    assert shown("x" * 1000) == "x" * 120
    assert shown(None) == "no reason given"


def test_the_frame_after_a_slow_start_is_still_heard(pair):
    ours, theirs = pair
    data = encode({"type": "sessions"})
    writer = threading.Thread(target=lambda: [theirs.sendall(data[i : i + 1]) for i in range(len(data))])
    writer.start()
    assert conversation(ours).hear(hears("sessions")) == {"type": "sessions"}
    writer.join()


# -- leaving -----------------------------------------------------------------------------------------------------


def test_whoever_leaves_says_so_and_takes_what_is_still_on_its_way_until_the_broker_hangs_up(pair):
    ours, theirs = pair
    leaving = threading.Thread(target=conversation(ours).leave, args=(60,))
    leaving.start()
    with theirs.makefile("rb") as heard:
        assert heard.read() == encode({"type": "unregister"})  # and no more: our half is closed
    for _ in range(100):
        theirs.sendall(encode({"type": "message_receipt", "of": "x" * 1000}))
    assert leaving.is_alive()
    theirs.shutdown(socket.SHUT_WR)
    leaving.join(60)
    assert not leaving.is_alive()


def test_a_broker_that_does_not_hang_up_is_left_after_a_moment(pair):
    ours, _ = pair
    started = time.monotonic()
    conversation(ours).leave(0.05)
    assert 0.05 <= time.monotonic() - started < 60


def test_a_broker_that_is_gone_already_is_left_at_once(pair):
    ours, theirs = pair
    theirs.close()
    conversation(ours).leave(60)
