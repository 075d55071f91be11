"""The client against a broker that breaks, in every way, at every step. What a whole broker says: tests/contract."""

import json
import socket
import struct
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest
from standins.intercom import Broker, Fault
from standins.intercom_peer import IntercomPeer
from standins.short_directory import short_directory

from strawboss.intercom.address import EndpointFile, UnixSocket
from strawboss.intercom.client import Intercom
from strawboss.intercom.connection import Timeouts
from strawboss.intercom.framing import encode
from strawboss.recovery.commands import Outcome, Result
from strawboss.recovery.verdict import Unknown

pytestmark = pytest.mark.slow

PATIENT = Timeouts(connect=60, total=60, receipt=0.1)
HANGS_UP = {Fault.LOSE, Fault.DROP, Fault.HALF}
CHILD = "child-1"


@pytest.fixture
def directory():
    with short_directory() as directory:
        yield directory


@pytest.fixture
def broker(directory):
    with Broker(directory) as broker:
        yield broker


def patient(path, **options):
    return Intercom(UnixSocket(str(path)), "/srv/launcher", timeouts=PATIENT, **options)


def facing(broker, fault):
    """Patient, but with a broker that would hold it for ever: then long enough for the steps before."""
    held = fault in {Fault.HANG, Fault.CHATTER}
    return Intercom(
        UnixSocket(str(broker.socket_path)), "/", timeouts=Timeouts(total=1.5) if held else PATIENT
    )


@pytest.fixture
def intercom(broker):
    return patient(broker.socket_path)


def until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():  # the broker is in this process too, and closes its ends a moment later
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)


def open_files():
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.mark.parametrize("fault", Fault)
@pytest.mark.parametrize("step", ["register", "list"])
def test_a_roster_from_a_broker_that_breaks_is_unknown_with_a_reason(broker, step, fault):
    broker.faults[step] = fault
    roster = facing(broker, fault).roster()
    assert isinstance(roster, Unknown)
    assert ("hung up" in roster.why or "lost" in roster.why) == (fault in HANGS_UP)
    assert ("in time" in roster.why) == (fault in {Fault.HANG, Fault.CHATTER})


@pytest.mark.parametrize("fault", Fault)
def test_a_send_that_breaks_before_it_was_written_has_failed(broker, fault):
    broker.faults["register"] = fault
    with IntercomPeer(broker.socket_path, CHILD) as child:
        assert facing(broker, fault).send(CHILD, None, "hello").outcome is Outcome.FAILED
        assert child.texts() == []


@pytest.mark.parametrize("fault", Fault)
def test_a_send_that_breaks_after_it_was_written_has_an_unknown_outcome(broker, fault):
    broker.faults["send"] = fault
    with IntercomPeer(broker.socket_path, CHILD) as child:
        result = facing(broker, fault).send(CHILD, None, "hello")
        assert result.outcome is Outcome.UNKNOWN
        assert result.why
        if fault is Fault.DROP:
            child.wait_for("message")  # it did arrive: that is why nobody may try again
    assert len(broker.frames("send")) == 1


def test_a_broker_killed_while_it_is_asked_is_a_lost_connection(broker, intercom):
    broker.faults["send"] = Fault.HANG
    results = []
    sender = threading.Thread(target=lambda: results.append(intercom.send(CHILD, None, "hello")))
    sender.start()
    broker.wait_for("send")
    broker.kill()
    sender.join(60)
    assert [result.outcome for result in results] == [Outcome.UNKNOWN]
    assert intercom.roster() == Unknown("no intercom broker is running", absent=True)


@pytest.mark.parametrize("fault", [None, *Fault])
def test_no_call_leaves_a_file_open_or_a_name_in_the_roster(broker, intercom, fault):
    if fault:
        broker.faults |= {"list": fault, "send": fault}
    quick = Intercom(intercom._address, "/", timeouts=Timeouts(total=0.02, receipt=0.01))
    quick.roster()
    broker.wait_until_gone("straw-boss")
    before = open_files()
    for _ in range(5):
        quick.roster()
        quick.send(CHILD, None, "hello")
    until(lambda: open_files() <= before)


def test_a_thousand_looks_leave_no_file_open(broker, intercom):
    intercom.roster()
    broker.wait_until_gone("straw-boss")
    before = open_files()
    for _ in range(1000):
        assert intercom.roster() == ()
    until(lambda: open_files() <= before)


def test_mail_and_news_between_the_answers_are_passed_over(broker, intercom):
    """Queued mail comes right after `registered`, before any answer."""
    intercom.roster()
    me = broker.frames("register")[0]["session"]
    broker.wait_until_gone("straw-boss")
    with IntercomPeer(broker.socket_path, CHILD) as child:
        assert child.send(me, "are you there?")["delivery"] == "queued"
        assert [peer.id for peer in intercom.roster()] == [CHILD]
        assert broker.frames("message", session=me)


def test_the_id_is_nobody_elses_and_stays_for_the_life_of_the_process(broker, intercom):
    other = patient(broker.socket_path)
    for client in (intercom, other, intercom):
        client.roster()
    first, second, third = (frame["frame"]["sessionId"] for frame in broker.frames("register"))
    assert first == third != second
    assert first.startswith("straw-boss-")


def test_a_scope_is_named_only_where_there_is_one(broker, intercom):
    patient(broker.socket_path, scope="team").roster()
    intercom.roster()
    assert [frame["frame"].get("scopeId") for frame in broker.frames("register")] == ["team", None]


# --- brokers that answer, and answer wrongly


class Scripted:
    """Answers each frame of one connection with the next of these replies, and then says no more."""

    def __init__(self, listener, replies):
        self._listener, self._replies, self.heard = listener, replies, []
        self._thread = threading.Thread(target=self._serve)

    def _serve(self):
        connection, _ = self._listener.accept()
        with connection, connection.makefile("rb") as stream:
            for reply in self._replies:
                self.heard.append(stream.read(struct.unpack(">I", stream.read(4))[0]))
                connection.sendall(reply(self.heard[-1]) if callable(reply) else encode(reply))
            connection.shutdown(socket.SHUT_WR)
            with suppress(ConnectionError):
                stream.read()

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._thread.join()
        self._listener.close()


@pytest.fixture
def scripted(directory):
    def serve(*replies):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(directory / "s"))
        listener.listen()
        return Scripted(listener, replies)

    return serve


@pytest.fixture
def to_scripted(directory):
    return patient(directory / "s")


REGISTERED = {"type": "registered", "sessionId": "me", "features": ["exact-send-v1"]}


def echoing(frame, field):
    """A reply that bears the request's id."""

    def reply(request):
        asked = json.loads(request)
        return encode(frame | {field: asked.get("requestId") or asked["message"]["id"]})

    return reply


def sessions(*entries):
    return echoing({"type": "sessions", "sessions": list(entries)}, "requestId")


def test_an_answer_to_another_question_is_not_taken(scripted, to_scripted):
    with scripted(REGISTERED, {"type": "sessions", "requestId": "another", "sessions": []}):
        assert to_scripted.roster() == Unknown("the intercom broker hung up")


def test_one_session_listed_twice_makes_the_roster_unknown(scripted, to_scripted):
    twice = [{"id": "a", "pid": 1}, {"id": "a", "pid": 2}]
    with scripted(REGISTERED, sessions(*twice)):
        assert to_scripted.roster() == Unknown("the intercom broker lists one session twice")


@pytest.mark.parametrize("entries", [[{"id": "a"}], [{"id": 1, "pid": 1}], ["a"], [None]])
def test_an_entry_that_cannot_be_read_makes_the_roster_unknown(scripted, to_scripted, entries):
    with scripted(REGISTERED, sessions(*entries)):
        roster = to_scripted.roster()
    assert isinstance(roster, Unknown)
    assert "sessions frame cannot be understood" in roster.why


def test_strawboss_drops_the_entry_the_broker_says_is_its_own(scripted, to_scripted):
    with scripted(REGISTERED, sessions({"id": "me", "pid": 1}, {"id": "a", "pid": 2})):
        assert [peer.id for peer in to_scripted.roster()] == ["a"]


@pytest.mark.parametrize("registered", [{"type": "registered"}, {"type": "registered", "sessionId": 1}])
def test_a_registration_that_cannot_be_read_is_unknown_and_a_failure(scripted, to_scripted, registered):
    with scripted(registered):
        assert isinstance(to_scripted.roster(), Unknown)


def test_a_refused_registration_carries_the_brokers_reason(scripted, to_scripted):
    with scripted({"type": "error", "error": "too many"}):
        assert to_scripted.send("a", "e", "x") == Result(
            Outcome.FAILED, "the intercom broker refused: too many"
        )


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (
            {"type": "delivery_failed", "code": "E_\x1b" + "X" * 999},
            Result(Outcome.FAILED, "E_ " + "X" * 117),
        ),
        ({"type": "delivery_failed", "reason": "old broker"}, Result(Outcome.FAILED, "old broker")),
        (
            {"type": "delivered", "delivery": "queued"},
            Result(Outcome.FAILED, "queued: the session is not connected"),
        ),
        (
            {"type": "delivered", "delivery": "by pigeon"},
            Result(Outcome.UNKNOWN, "taken, and not confirmed by the session"),
        ),
        (
            {"type": "delivered", "delivery": "socket_delivered"},
            Result(Outcome.DONE, "the session has not confirmed it yet"),
        ),
    ],
)
def test_every_answer_to_a_send_has_its_outcome(scripted, to_scripted, answer, result):
    with scripted(REGISTERED, echoing(answer, "messageId")):
        assert to_scripted.send("a", "e", "x") == result


def test_a_message_the_broker_could_not_parse_is_a_failure(scripted, to_scripted):
    refused = {"type": "delivery_failed", "messageId": "unknown", "code": "E_INVALID_MESSAGE"}
    with scripted(REGISTERED, refused):
        assert to_scripted.send("a", "e", "x") == Result(Outcome.FAILED, "E_INVALID_MESSAGE")


@pytest.mark.parametrize("message_id", ["another", {}, [], None, 7])
def test_word_of_another_message_is_no_word_of_ours(scripted, to_scripted, message_id):
    answer = {"type": "delivered", "messageId": message_id, "delivery": "socket_delivered"}
    with scripted(REGISTERED, answer):
        assert to_scripted.send("a", "e", "x").outcome is Outcome.UNKNOWN


def test_a_delivery_that_cannot_be_read_has_an_unknown_outcome(scripted, to_scripted):
    with scripted(REGISTERED, echoing({"type": "delivered", "delivery": 3}, "messageId")):
        assert to_scripted.send("a", "e", "x").outcome is Outcome.UNKNOWN


def test_a_tcp_broker_sees_its_secret_in_the_registration(directory):
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    file = directory / "broker.port.json"
    file.write_text(f'{{"transport":"tcp","host":"127.0.0.1","port":{port},"stateId":"secret"}}')
    with Scripted(listener, [REGISTERED, sessions()]) as broker:
        assert Intercom(EndpointFile(str(file)), "/", timeouts=PATIENT).roster() == ()
    assert b'"stateId":"secret"' in broker.heard[0]


def test_a_directory_that_is_no_utf8_is_unknown_and_no_traceback(broker):
    intercom = Intercom(UnixSocket(str(broker.socket_path)), "/srv/\udcff", timeouts=PATIENT)
    assert intercom.roster() == Unknown("the text is no UTF-8")
    assert intercom.send(CHILD, None, "x").outcome is Outcome.FAILED


def test_a_listener_that_never_accepts_is_not_waited_for(directory):
    path = directory / "deaf"
    with closing(socket.socket(socket.AF_UNIX)) as deaf:
        deaf.bind(str(path))
        deaf.listen()
        hurried = Intercom(UnixSocket(str(path)), "/", timeouts=Timeouts(total=0.05))
        assert hurried.roster() == Unknown("the intercom broker did not answer in time")
