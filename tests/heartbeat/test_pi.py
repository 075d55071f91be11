"""The heartbeat extension in the real pi: a pi worker beats, is steered and ends, and never suffers from it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from e2e.pi_install import pi_environment
from e2e.rpc import PiRpc
from heartbeat.waiting import until
from standins.model import Call, Hang, Model, Text, rules

from strawboss.heartbeat.layout import Worktree
from strawboss.system.json_files import read_object

pytestmark = pytest.mark.slow

EXTENSION = Path(__file__).resolve().parents[2] / "strawboss" / "heartbeat" / "pi"
WORKER = {"STRAWBOSS_AGENT_ID": "leaf-7", "STRAWBOSS_PARENT_ID": "run-42"}
LONG = "tool_" * 60
OFTEN = {"STRAWBOSS_BEAT_SECONDS": "1"}


@pytest.fixture
def model(tmp_path):
    with Model(
        tmp_path / "model.jsonl",
        rules(
            [
                ("please hang", Hang()),
                ("which step", Text("step three")),
                ("long tool", Call(LONG)),
                (LONG, Hang()),
            ]
        ),
    ) as model:
        yield model


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "tree").mkdir()
    return Worktree(tmp_path / "tree")


@pytest.fixture
def pi(tmp_path, model, tree):
    """Starts a pi in the worktree with the extension."""

    def pi(**variables):
        own = {"STRAWBOSS_PYTHON": sys.executable, "STRAWBOSS_BEAT_SECONDS": "60"} | variables
        environment = pi_environment(tmp_path / "home", model.url, extensions=[EXTENSION], **own)
        return PiRpc(environment, tree.root)

    return pi


def record(tree):
    found = read_object(tree.heartbeat_file("leaf-7"))
    return found if isinstance(found, dict) else {}


def strawboss(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "strawboss", *map(str, arguments)], capture_output=True, text=True
    )
    return done.returncode, done.stdout + done.stderr


def test_a_pi_worker_beats_through_its_life_without_effort(pi, tree):
    with pi(**WORKER, **OFTEN) as worker:
        until(lambda: record(tree).get("phase") == "starting", "the first beat")
        first = record(tree)["last_heartbeat_at"]
        until(lambda: record(tree)["last_heartbeat_at"] != first, "a renewal")
        worker.prompt("hello")
        until(lambda: record(tree).get("wait_kind") == "idle", "the idle beat")
        assert (record(tree)["phase"], record(tree)["parent_id"]) == ("polling", "run-42")
    assert (record(tree)["phase"], record(tree)["terminal_state"]) == ("terminal", "CLEAN")


def test_a_pi_worker_that_works_says_so_and_killed_leaves_no_terminal_record(pi, tree, model):
    with pi(**WORKER) as worker:
        worker.command("please hang")
        until(lambda: record(tree).get("phase") == "implementing", "the working beat")
        os.kill(worker.process.pid, signal.SIGKILL)
        worker.process.wait()
        model.release()
    assert (record(tree)["phase"], record(tree)["terminal_state"]) == ("implementing", None)


def test_what_another_named_is_told_as_far_as_a_record_may_carry_it(pi, tree, model):
    with pi(**WORKER, **OFTEN) as worker:
        worker.command("long tool")
        until(lambda: record(tree).get("last_message", "").startswith("runs tool_"), "the beat of the call")
        model.release()
    assert record(tree)["phase"] == "terminal"


def test_a_pi_worker_that_is_ended_while_it_works_says_so(pi, tree, model):
    with pi(**WORKER) as worker:
        worker.command("please hang")
        until(lambda: record(tree).get("phase") == "implementing", "the working beat")
        worker.process.terminate()
        worker.process.wait(90)
        model.release()
    assert (record(tree)["phase"], record(tree)["terminal_state"]) == ("terminal", "ERRORED")


def test_a_steer_of_the_parent_reaches_the_model_and_is_acknowledged_once_it_is_in_the_session(
    pi, tree, model
):
    with pi(**WORKER, **OFTEN) as worker:
        worker.prompt("hello")
        until(lambda: record(tree), "a beat")
        code, said = strawboss(
            "subagent:steer", "--agent", "leaf-7", "--writer-id", "run-42", "--kind", "note",
            "--text", "which step?", "--target-id", tree.root,
        )  # fmt: skip
        assert code == 0, said
        model.wait_for(lambda request: "which step?" in request.last)
        steers = ("verify:subagent-steer", "--steer-dir", tree.steer_directory)
        until(lambda: strawboss(*steers)[0] == 0, "the ack")
        worker.wait_for(lambda said: said["type"] == "agent_settled", count=2)
    assert sum("which step?" in request.last for request in model.requests) == 1


def test_the_command_starts_shows_and_stops_the_beats_of_a_running_pi(pi, tree):
    with pi() as worker:
        worker.command("/beat")
        worker.command("/beat leaf-7")
        worker.command("/beat leaf-7 run-42")
        until(lambda: record(tree).get("phase") == "starting", "the first beat")
        worker.command("/beat stop BLOCKED")
        assert record(tree)["terminal_state"] == "BLOCKED"
        assert worker.notices()[0] == "no heartbeats"
        assert worker.notices()[1].startswith("write /beat AGENT PARENT")
        assert worker.notices()[2].startswith("beats as leaf-7 for run-42")
    assert record(tree)["terminal_state"] == "BLOCKED"


def test_a_new_session_of_the_same_pi_is_the_same_worker(pi, tree):
    with pi(**WORKER) as worker:
        until(lambda: record(tree), "a beat")
        worker.prompt("hello")
        worker.ask("new_session")
        until(lambda: record(tree).get("phase") == "starting", "the first beat of the new session")
        assert record(tree)["terminal_state"] is None


def test_beats_that_cannot_be_written_cost_one_warning_and_nothing_else(pi, tree):
    (tree.root / ".deft-scratch").write_text("a file in its place")
    with pi(**WORKER) as worker:
        worker.prompt("hello")
        until(worker.notices, "the warning")
        worker.prompt("hello again")
    assert len(worker.notices()) == 1
    assert "heartbeat:" in worker.notices()[0]


def test_a_pi_that_is_no_worker_writes_nothing(pi, tree):
    with pi(STRAWBOSS_PYTHON="/nonexistent/python") as worker:
        worker.prompt("hello")
    assert list(tree.root.iterdir()) == []
    assert worker.notices() == []


def answers(worker, count):
    """What /heartbeat has put into the session, once there are so many."""

    def is_answer(said):
        return said["type"] == "message_end" and said["message"].get("customType") == "straw-boss-heartbeat"

    worker.wait_for(is_answer, count=count)
    return [said["message"]["content"] for said in worker.said if is_answer(said)]


# Of each flag a line that answers otherwise without it, or with its default.
TYPED = {
    "--check-all": ("/heartbeat --check-all", "| researcher | idle |"),
    "--agent": ("/heartbeat --agent researcher", "## Heartbeat — researcher"),
    "--interval": ("/heartbeat --check-all --interval 200s", "--timeout must be longer than --interval"),
    "--timeout": ("/heartbeat --check-all --timeout 30s", "--timeout must be longer than --interval"),
    "--on-stall": ("/heartbeat --check-all --on-stall revive", "'revive' is not one of"),
    "--history": ("/heartbeat --history", "cycle began"),
    "--last": ("/heartbeat --history --last 1", "cycle ended"),
    "--wake": ('/heartbeat --wake "no such"', "no such"),
}


def test_heartbeat_answers_in_the_session_with_the_flags_of_the_command_line(pi, tree, tmp_path):
    registry = tmp_path / "config" / "agents.yaml"
    registry.parent.mkdir()
    registry.write_text("agents:\n  - name: researcher\n    role: analyst\n")
    store = {"STRAWBOSS_CONFIG_DIR": str(registry.parent), "STRAWBOSS_STATE_DIR": str(tmp_path / "state")}
    with pi(**store) as worker:
        worker.prompt("hello")
        said = {}
        for count, (flag, (line, answer)) in enumerate(TYPED.items(), 1):
            worker.command(line)
            said[flag] = answers(worker, count)[-1]
            assert answer in said[flag]
        assert len(said["--history"].splitlines()) > len(said["--last"].splitlines()) == 3
        worker.command("/heartbeat --check-all --every 1s")
        assert worker.notices()[-1].startswith("a heartbeat that never ends needs a terminal")
    assert len(worker.notices()) == 1


def test_heartbeat_starts_no_turn_and_is_not_waited_for(pi, tree, model):
    with pi(STRAWBOSS_PYTHON="/nonexistent/python") as worker:
        worker.command("/heartbeat")
        assert "/nonexistent/python" in answers(worker, 1)[0]
    assert not model.requests
