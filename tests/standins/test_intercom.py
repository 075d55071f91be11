"""The stand-in broker and the stand-in extension, with the real pi between them."""

import json
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from e2e.pi_install import pi_binary, pi_environment
from standins.intercom import Broker
from standins.intercom_peer import IntercomPeer
from standins.model import Model, Text
from standins.short_directory import short_directory

pytestmark = pytest.mark.slow

EXTENSION = Path(__file__).parent / "intercom_extension"


@pytest.fixture
def home():
    with short_directory() as directory:
        yield directory


@pytest.fixture
def broker(home):
    with Broker(home / ".pi" / "agent") as broker:
        yield broker


@pytest.fixture
def model(home):
    with Model(home / "model.jsonl") as model:
        yield model


class Pi:
    """A pi in rpc mode on the intercom; `said` are its events so far."""

    def __init__(self, home, model, session_id):
        environment = pi_environment(home, model.url, extensions=[EXTENSION])
        command = [pi_binary(), "--mode", "rpc", "--session-id", session_id]
        self.id, self.home = session_id, home
        self.process = subprocess.Popen(
            command, env=environment, cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()

    def until(self, event):
        for line in self.process.stdout:
            if json.loads(line)["type"] == event:
                return
        raise AssertionError(f"pi ended without {event}")

    def messages(self):
        [file] = (self.home / ".pi" / "agent" / "sessions").rglob(f"*_{self.id}.jsonl")
        entries = map(json.loads, file.read_text().splitlines())
        return [entry for entry in entries if entry["type"] == "custom_message"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.stdout.close()
        self.process.wait(60)


@contextmanager
def running(home, model, broker, session_id):
    with Pi(home, model, session_id) as pi:
        broker.wait_for("registered", session=session_id)
        yield pi


def test_a_pi_session_stands_in_the_roster_under_its_own_id_and_leaves_with_its_process(home, broker, model):
    with IntercomPeer(broker.socket_path) as watcher:
        with running(home, model, broker, "child-1") as pi:
            session = watcher.roster()["child-1"]
            assert session["pid"] == pi.process.pid
            assert (session["status"], session["runtimeFallbackAlias"]) == ("idle", True)
        broker.wait_until_gone("subagent-chat-child-1")


def test_a_message_to_an_idle_session_starts_a_turn_and_is_written_to_its_file(home, broker, model):
    with running(home, model, broker, "child-1") as pi, IntercomPeer(broker.socket_path, name="boss") as boss:
        assert boss.send("child-1", "SAY hello")["delivery"] == "socket_delivered"
        pi.until("agent_settled")
        [message] = pi.messages()
        assert message["customType"] == "intercom_message"
        assert message["details"]["from"]["name"] == "boss"
        assert message["details"]["bodyText"] == "SAY hello"
        assert len(model.requests) == 1
        receipts = [frame["receipt"]["status"] for frame in boss.frames if frame["type"] == "message_receipt"]
        assert receipts == ["receiver_received", "acknowledged", "injected"]


def test_a_message_to_a_busy_session_steers_it_after_its_tool(home, broker, model):
    with running(home, model, broker, "child-1") as pi, IntercomPeer(broker.socket_path, name="boss") as boss:
        gate = home / "gate"
        pi.ask(type="prompt", message=f'CALL bash {{"command": "until [ -e {gate} ]; do sleep 0.02; done"}}')
        until(lambda: boss.roster()["child-1"]["status"] == "tool:bash")
        boss.send("child-1", "SAY later")
        boss.wait_for("message_receipt")
        gate.touch()
        pi.until("agent_settled")
        assert [message["details"]["bodyText"] for message in pi.messages()] == ["SAY later"]
        assert boss.roster()["child-1"]["status"] == "idle"


def test_a_child_reports_to_its_launcher_by_the_intercom_tool(home, broker, model):
    with (
        running(home, model, broker, "child-1") as pi,
        IntercomPeer(broker.socket_path, "launcher-1") as launcher,
    ):
        pi.ask(
            type="prompt",
            message='CALL intercom {"action": "send", "to": "launcher-1", "message": "all done"}',
        )
        launcher.wait_for("message")
        pi.until("agent_settled")
        assert launcher.texts() == ["all done"]


def test_a_session_comes_back_when_the_broker_does(home, model):
    with Broker(home / ".pi" / "agent") as first, running(home, model, first, "child-1"):
        first.kill()
        with Broker(home / ".pi" / "agent") as second:
            until(lambda: second.names == ["subagent-chat-child-1"])


def test_print_mode_ends_though_it_is_on_the_intercom(home, broker):
    def once_it_is_registered(_):
        broker.wait_for("registered")
        return Text("bye")

    with Model(home / "model.jsonl", once_it_is_registered) as model:
        environment = pi_environment(home, model.url, extensions=[EXTENSION])
        command = [pi_binary(), "-p", "hello"]
        done = subprocess.run(command, env=environment, cwd=home, capture_output=True, timeout=120)
    assert (done.returncode, done.stdout.strip()) == (0, b"bye")
    until(lambda: broker.names == [])


def until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)
