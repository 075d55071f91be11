"""The intercom client against the stand-in broker, the recorded frames of the real one, and the real one itself.

The real broker runs when `STRAWBOSS_TEST_PI_INTERCOM` names a checkout of pi-intercom.
"""

import json
import os
import socket
import struct
import subprocess
import threading
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from e2e.pi_install import pi_binary
from standins.intercom import Broker
from standins.intercom_peer import IntercomPeer
from standins.short_directory import short_directory

from strawboss.intercom.address import UnixSocket
from strawboss.intercom.client import Intercom
from strawboss.recovery.commands import Outcome, Result
from strawboss.recovery.evidence import Peer
from strawboss.recovery.verdict import Unknown

pytestmark = pytest.mark.slow

RECORDED = Path(__file__).parents[2] / "fixtures" / "intercom"
REAL = os.environ.get("STRAWBOSS_TEST_PI_INTERCOM")
CHILD = "0199c0de-0000-7000-8000-000000000001"


@contextmanager
def real_broker(agent_directory, stderr=subprocess.DEVNULL):
    """pi-intercom's own, started as pi starts it. It leaves by itself when nobody is on it for 5 s."""
    command = [pi_binary().parent / "node", Path(REAL) / "broker" / "broker.ts"]
    environment = os.environ | {"PI_CODING_AGENT_DIR": str(agent_directory), "NODE_NO_WARNINGS": "1"}
    broker = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=stderr)
    path = agent_directory / "intercom" / "broker.sock"
    until(lambda: answers(path))
    try:
        yield broker, path
    finally:
        broker.kill()
        broker.wait()


def answers(path):
    with closing(socket.socket(socket.AF_UNIX)) as probe:
        return probe.connect_ex(str(path)) == 0


@contextmanager
def stand_in(agent_directory, **options):
    with Broker(agent_directory, **options) as broker:
        yield broker, broker.socket_path


@pytest.fixture
def agent_directory():
    with short_directory() as directory:
        yield directory


@pytest.fixture(
    params=[
        "stand-in",
        pytest.param(
            "real", marks=pytest.mark.skipif(not REAL, reason="STRAWBOSS_TEST_PI_INTERCOM is not set")
        ),
    ]
)
def broker(request, agent_directory):
    """The socket of a broker that knows exact sends."""
    kinds = {"stand-in": stand_in, "real": real_broker}
    with kinds[request.param](agent_directory) as (_, path):
        yield path


@pytest.fixture
def starterless_broker(agent_directory):
    if not REAL:
        pytest.skip("STRAWBOSS_TEST_PI_INTERCOM is not set")
    nowhere, stderr = os.pipe()
    os.close(nowhere)
    with real_broker(agent_directory, stderr) as (process, path):
        os.close(stderr)
        yield process, path


@pytest.fixture
def intercom(broker):
    return Intercom(UnixSocket(str(broker)), "/srv/launcher")


@pytest.fixture
def child(broker):
    with IntercomPeer(
        broker, CHILD, name="child", pid=4242, cwd="/srv/child", status="tool:bash · busy"
    ) as peer:
        yield peer


def epoch_of(intercom, session_id):
    return next(peer.epoch for peer in intercom.roster() if peer.id == session_id)


def joined(watcher):
    return [frame["session"] for frame in list(watcher.frames) if frame["type"] == "session_joined"]


def until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)


# --- the roster


def test_the_roster_names_every_session_with_its_pid_status_and_epoch_but_not_strawboss(intercom, child):
    [peer] = intercom.roster()
    assert peer == Peer(CHILD, 4242, "tool:bash · busy", epoch=peer.epoch, name="child")
    assert peer.epoch == child.roster()[CHILD]["endpointEpoch"]


def test_an_empty_roster_is_known_to_be_empty(intercom):
    assert intercom.roster() == ()


def test_after_a_call_nothing_of_strawboss_is_left_in_the_roster(intercom, child):
    for _ in range(3):
        intercom.roster()
        intercom.send(CHILD, epoch_of(intercom, CHILD), "hello")
    until(lambda: list(child.roster()) == [CHILD])
    # It was there, as straw-boss in the launcher's directory, under an id that is no session's.
    seen = {(one["name"], one["cwd"], one["status"], one["id"] == CHILD) for one in joined(child)}
    assert seen == {("straw-boss", "/srv/launcher", "idle", False)}


def test_a_broker_whose_starter_is_gone_outlives_every_message_of_strawboss(starterless_broker):
    """Its stderr leads nowhere then, and it ends of the first thing it wants to complain of: a failed write, say."""
    process, path = starterless_broker
    intercom = Intercom(UnixSocket(str(path)), "/")
    with IntercomPeer(path, CHILD, name="child") as child:
        for number in range(40):
            assert intercom.send(CHILD, None, f"{number}") == Result(Outcome.DONE)
        assert len(child.texts()) == 40
        assert process.poll() is None


def test_two_strawboss_processes_do_not_throw_each_other_out(broker):
    first, second = (Intercom(UnixSocket(str(broker)), "/") for _ in range(2))
    with IntercomPeer(broker) as watcher:
        first.roster()
        second.roster()
        until(lambda: len(joined(watcher)) == 2)
        assert len({one["id"] for one in joined(watcher)}) == 2


# --- sending


def test_a_message_reaches_exactly_the_session_and_its_receipt_is_waited_for(intercom, child, broker):
    with IntercomPeer(broker, CHILD + "-sibling", name="child") as sibling:
        assert intercom.send(CHILD, epoch_of(intercom, CHILD), "report to 0199") == Result(Outcome.DONE)
        assert child.texts() == ["report to 0199"]
        assert sibling.texts() == []


def test_a_message_whose_receiver_says_nothing_is_delivered_and_not_confirmed(broker, intercom):
    with IntercomPeer(broker, CHILD, receipts=False):
        result = intercom.send(CHILD, epoch_of(intercom, CHILD), "hello")
    assert result == Result(Outcome.DONE, "the session has not confirmed it yet")


def test_r43_a_target_that_has_registered_anew_since_the_list_gets_nothing(broker, intercom):
    with IntercomPeer(broker, CHILD):
        stale = epoch_of(intercom, CHILD)
    with IntercomPeer(broker, CHILD) as rebound:
        assert intercom.send(CHILD, stale, "hello") == Result(Outcome.FAILED, "E_TARGET_REBOUND")
        assert rebound.texts() == []


def test_a_target_that_has_left_since_the_list_gets_nothing_even_later(broker, intercom):
    with IntercomPeer(broker, CHILD):
        epoch = epoch_of(intercom, CHILD)
    with IntercomPeer(broker) as watcher:
        until(lambda: CHILD not in watcher.roster())
    assert intercom.send(CHILD, epoch, "hello") == Result(Outcome.FAILED, "E_TARGET_NOT_FOUND")
    with IntercomPeer(broker, CHILD) as back:
        assert back.texts() == []


def test_r41_a_message_that_is_only_queued_has_failed_and_is_not_sent_again(broker, intercom):
    """Accepted is not delivered: without an epoch the broker keeps mail for a session that is offline."""
    with IntercomPeer(broker, CHILD, name="child"):
        pass
    with IntercomPeer(broker) as watcher:
        until(lambda: CHILD not in watcher.roster())
    assert intercom.send(CHILD, None, "hello") == Result(
        Outcome.FAILED, "queued: the session is not connected"
    )
    with IntercomPeer(broker, CHILD, name="child") as back:
        back.wait_for("message")
        assert back.texts() == ["hello"]  # late, as R42 has it, and once


def test_a_session_nobody_has_heard_of_is_a_failure(intercom):
    assert intercom.send("nobody", None, "hello") == Result(Outcome.FAILED, "E_TARGET_NOT_FOUND")


def test_a_text_the_broker_would_choke_on_is_refused_before_a_byte_of_it_is_written(intercom, child):
    result = intercom.send(CHILD, epoch_of(intercom, CHILD), "x" * 1_048_576)
    assert result.outcome is Outcome.FAILED
    assert "too long" in result.why
    assert child.texts() == []


def test_a_message_just_below_the_limit_comes_through_whole(intercom, child):
    text = "x" * 1_000_000
    assert intercom.send(CHILD, epoch_of(intercom, CHILD), text).outcome is Outcome.DONE
    assert child.texts() == [text]


def test_r45_a_reply_to_the_launchers_id_arrives_where_a_reply_to_strawboss_does_not(broker, intercom, child):
    launcher = "0199c0de-0000-7000-8000-00000000000a"
    with IntercomPeer(broker, launcher, name="launcher", cwd="/srv/launcher") as session:
        intercom.send(CHILD, epoch_of(intercom, CHILD), f"Report to session {launcher}.")
        [text] = child.texts()
        assert child.send(text.removesuffix(".").split()[-1], "done")["type"] == "delivered"
        session.wait_for("message")
        assert session.texts() == ["done"]
        sender = child.wait_for("message")["from"]["id"]
        until(lambda: sender not in child.roster())
        assert child.send(sender, "done").get("delivery") != "socket_delivered"


# --- what the neighbour's rules say of frames, held against the stand-in and the real one


@pytest.mark.parametrize(
    "bytes_sent",
    [
        struct.pack(">I", 1_048_577),
        struct.pack(">I", 3) + b"{,}",
        struct.pack(">I", 2) + b"[]",
        struct.pack(">I", 15) + b'{"type":"list"}',
        struct.pack(">I", 19) + b'{"type":"whatever"}',
        struct.pack(">I", 19) + b'{"type":"register"}',
    ],
    ids=["oversize", "no JSON", "no object", "list before register", "unknown type", "no session"],
)
def test_a_broker_hangs_up_without_a_word_on_a_frame_it_does_not_take(broker, bytes_sent):
    with closing(socket.socket(socket.AF_UNIX)) as raw:
        raw.connect(str(broker))
        raw.sendall(bytes_sent)
        raw.settimeout(60)
        assert raw.recv(1) == b""


def test_a_broker_hangs_up_on_who_does_not_register_within_a_second(broker):
    with closing(socket.socket(socket.AF_UNIX)) as raw:
        started = time.monotonic()
        raw.connect(str(broker))
        raw.settimeout(60)
        assert raw.recv(1) == b""
        assert time.monotonic() - started > 0.9


def test_a_second_registration_of_an_id_throws_the_first_out(broker):
    with IntercomPeer(broker) as watcher, IntercomPeer(broker, CHILD) as first:
        before = watcher.roster()[CHILD]["endpointEpoch"]
        with IntercomPeer(broker, CHILD):
            first._thread.join(60)
            assert not first._thread.is_alive()
            assert watcher.roster()[CHILD]["endpointEpoch"] != before


def test_a_name_two_sessions_bear_is_no_address(broker):
    with IntercomPeer(broker, name="Twin"), IntercomPeer(broker, name="twin"), IntercomPeer(broker) as sender:
        answer = sender.send("twin", "hello")
        assert (answer["type"], answer["code"]) == ("delivery_failed", "E_AMBIGUOUS_TARGET")


def test_sessions_of_different_scopes_do_not_see_each_other(broker):
    scoped = Intercom(UnixSocket(str(broker)), "/", scope="team")
    with IntercomPeer(broker, CHILD):
        assert scoped.roster() == ()
        assert scoped.send(CHILD, None, "hello") == Result(Outcome.FAILED, "E_TARGET_NOT_FOUND")


# --- other versions of the broker, which only the stand-in can be


def test_a_broker_without_exact_sends_gets_a_plain_one_and_a_receipt_proves_delivery(agent_directory):
    with Broker(agent_directory, exact=False) as broker, IntercomPeer(broker.socket_path, CHILD) as child:
        intercom = Intercom(UnixSocket(str(broker.socket_path)), "/")
        [peer] = intercom.roster()
        assert peer.epoch is None
        assert intercom.send(CHILD, None, "hello") == Result(Outcome.DONE)
        assert child.texts() == ["hello"]
        [send] = broker.frames("send")
        assert "targetId" not in send["frame"]


def test_an_epoch_is_not_sent_to_a_broker_that_has_none(agent_directory):
    """The broker was replaced by an older one between the list and the send."""
    with Broker(agent_directory, exact=False) as broker, IntercomPeer(broker.socket_path, CHILD):
        assert Intercom(UnixSocket(str(broker.socket_path)), "/").send(CHILD, "e1", "hello") == Result(
            Outcome.DONE
        )
        assert "targetEpoch" not in broker.frames("send")[0]["frame"]


def test_an_old_brokers_delivered_without_a_receipt_proves_nothing(agent_directory):
    """Brokers before 0.11 say the same of a live session and of a mailbox."""
    with Broker(agent_directory, exact=False) as broker:
        intercom = Intercom(UnixSocket(str(broker.socket_path)), "/")
        with IntercomPeer(broker.socket_path, CHILD):
            pass
        broker.wait_until_gone(CHILD)
        assert intercom.send(CHILD, None, "hello").outcome is Outcome.UNKNOWN


LOCATIONS = {
    "current": ({"status": "current", "paneId": "w1:p3", "tab": {}, "refreshedAt": 1}, "w1:p3"),
    "unavailable": ({"status": "unavailable", "paneId": "w1:p3", "reason": "pane_missing"}, None),
    "not hosted": ({"status": "not_hosted"}, None),
    "a newer status": ({"status": "moving", "paneId": "w1:p3"}, None),
    "no pane id": ({"status": "current"}, None),
    "another shape": ("w1:p3", None),
}


@pytest.mark.parametrize(("location", "pane"), LOCATIONS.values(), ids=LOCATIONS)
def test_only_a_current_location_of_a_newer_broker_names_a_pane(agent_directory, location, pane):
    with (
        Broker(agent_directory, locate=lambda _: location) as broker,
        IntercomPeer(broker.socket_path, CHILD, herdrPaneId="w1:p9"),
    ):
        [peer] = Intercom(UnixSocket(str(broker.socket_path)), "/").roster()
        assert (peer.pane, peer.located) == (pane, True)


# --- the recorded frames of the real broker


class Recorded:
    """Plays a recorded conversation back: after each frame from the client, what the broker sent next then."""

    def __init__(self, directory, entries):
        self.path, self.heard = directory / "recorded.sock", []
        self._replies, own = self._by_request(entries)
        self._own = own
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(self.path))
        self._server.listen()
        self._thread = threading.Thread(target=self._play)

    @staticmethod
    def _by_request(entries):
        replies, current, own = {}, None, {}
        for entry in entries:
            frame = entry["frame"]
            if entry["dir"] == "to-broker":
                current = replies.setdefault(frame["type"], [])
                own |= {frame["type"]: frame.get("requestId") or frame.get("message", {}).get("id")}
            else:
                current.append(frame)
        return replies, own

    def _play(self):
        connection, _ = self._server.accept()
        # strawboss leaves as soon as it has heard enough: the rest finds nobody.
        with connection, suppress(ConnectionError), connection.makefile("rb") as stream:
            while header := stream.read(4):
                frame = json.loads(stream.read(struct.unpack(">I", header)[0]))
                self.heard.append(frame)
                with suppress(ConnectionError):
                    self._reply(connection, frame)

    def _reply(self, connection, frame):
        for reply in self._replies.get(frame["type"], []):
            payload = json.dumps(reply).replace(*self._renamed(frame)).encode()
            connection.sendall(struct.pack(">I", len(payload)) + payload)

    def _renamed(self, frame):
        """The id of the recorded request, and of this one."""
        mine = frame.get("requestId") or frame.get("message", {}).get("id") or "-"
        return json.dumps(self._own.get(frame["type"]) or "-"), json.dumps(mine)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._thread.join(60)
        self._server.close()


def recorded_rosters():
    lines = (RECORDED / "rosters.jsonl").read_text().splitlines()
    return {moment["moment"]: moment["frames"] for moment in map(json.loads, lines)}


def as_conversation(frames):
    for frame in frames:
        if frame["type"] in {"registered", "sessions"}:
            request = {"registered": {"type": "register"}}.get(
                frame["type"], {"type": "list", "requestId": frame.get("requestId")}
            )
            yield {"dir": "to-broker", "frame": request}
        yield {"dir": "from-broker", "frame": frame}


@pytest.mark.parametrize("moment", recorded_rosters())
def test_a_recorded_roster_is_read_whole_and_without_the_one_who_asked(agent_directory, moment):
    frames = recorded_rosters()[moment]
    me = next(frame["sessionId"] for frame in frames if frame["type"] == "registered")
    [listed] = [frame["sessions"] for frame in frames if frame["type"] == "sessions"]
    with Recorded(agent_directory, as_conversation(frames)) as recorded:
        roster = Intercom(UnixSocket(str(recorded.path)), "/").roster()
    assert [(peer.id, peer.pid, peer.status, peer.epoch) for peer in roster] == [
        (one["id"], one["pid"], one["status"], one["endpointEpoch"]) for one in listed if one["id"] != me
    ]
    assert len(roster) == len(listed) - 1 > 0


def recorded_send():
    return [json.loads(line) for line in (RECORDED / "send.jsonl").read_text().splitlines()]


def test_the_recorded_send_is_done_and_strawboss_says_what_the_broker_took_then(agent_directory):
    entries = recorded_send()
    said = {entry["frame"]["type"]: entry["frame"] for entry in entries if entry["dir"] == "to-broker"}
    target = said["send"]
    with Recorded(agent_directory, entries) as recorded:
        intercom = Intercom(UnixSocket(str(recorded.path)), "/")
        text = target["message"]["content"]["text"]
        assert intercom.send(target["targetId"], target["targetEpoch"], text) == Result(Outcome.DONE)
    register, send, unregister = recorded.heard
    assert unregister == {"type": "unregister"}
    assert shape(register) == shape(said["register"])
    assert shape(send) == shape(target)
    assert {**send, "message": None} == {**target, "message": None}


def shape(value):
    """The same fields of the same types."""
    return {name: shape(part) for name, part in value.items()} if isinstance(value, dict) else type(value)


def test_a_broker_that_is_not_there_is_unknown_and_a_failure(agent_directory):
    intercom = Intercom(UnixSocket(str(agent_directory / "broker.sock")), "/")
    assert intercom.roster() == Unknown("no intercom broker is running", absent=True)
    assert intercom.send(CHILD, None, "hello") == Result(Outcome.FAILED, "no intercom broker is running")
