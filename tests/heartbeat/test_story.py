"""A whole story with real processes: dispatched, beating, steered, killed, proven dead, cancelled, begun again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from datetime import timedelta

import pytest
from heartbeat.waiting import until

from strawboss.heartbeat.layout import LEDGER_DIRECTORY, Worktree
from strawboss.heartbeat.utc import format_utc, utc_now
from strawboss.system.json_files import read_object, write_json

pytestmark = pytest.mark.slow

# A worker as people write one: beats, polls its inbox, acknowledges what it applies.
WORKER = """
import subprocess, sys, time
from pathlib import Path
from strawboss.heartbeat import Heartbeat

def strawboss(*arguments):
    return subprocess.run([sys.executable, "-m", "strawboss", *arguments], capture_output=True, text=True).stdout

with Heartbeat("leaf-7", parent_id="run-42", every=0.2) as heart:
    heart.beat("writes code", "implementing")
    while True:
        has_mail = Path(".deft-scratch/subagent-steer/leaf-7.json").exists()
        letter = strawboss("subagent:inbox", "--agent", "leaf-7") if has_mail else ""
        if letter.startswith("steer_id="):
            heart.beat("applied: " + letter.splitlines()[1], "fixing")
            strawboss("subagent:ack", "--agent", "leaf-7", "--steer-id", letter.split()[0].partition("=")[2])
        time.sleep(0.1)
"""


class Parent:
    """The orchestrator's shell, in the project's root."""

    def __init__(self, root):
        self.root, self.tree = root, Worktree(root / "tree")
        (root / "AGENTS.md").touch()
        for name in ("vbrief", "tree"):
            (root / name).mkdir()

    def __call__(self, *arguments):
        done = subprocess.run(
            [sys.executable, "-m", "strawboss", *arguments], cwd=self.root, capture_output=True, text=True
        )
        assert "Traceback" not in done.stderr
        return done.returncode, done.stdout + done.stderr

    def dispatch(self, *more):
        return self(
            "swarm:pre-dispatch", "--scope-id", "issue-6", "--target-id", "./tree", "--revision", "r1", *more
        )

    def begin(self):
        return self.dispatch("--worker-id", "leaf-7")

    def cancel(self, *more):
        return self.dispatch("--action", "cancel", "--canceller-id", "run-42", *more)

    def alive(self):
        return self(
            "verify:subagent-alive",
            "--require-agent",
            "leaf-7",
            "--scratch-dir",
            "tree/.deft-scratch/subagent-status",
        )

    def pre_cancel(self):
        return self(
            "subagent:pre-cancel", "--agent", "leaf-7", "--canceller-id", "run-42", "--target-id", "tree"
        )

    def unread(self):
        return self("verify:subagent-steer", "--steer-dir", "tree/.deft-scratch/subagent-steer")

    def record(self):
        found = read_object(self.tree.heartbeat_file("leaf-7"))
        return found if isinstance(found, dict) else {}

    def hours_pass(self, hours):
        """Everything on disk was written that much earlier."""
        then = format_utc(utc_now() - timedelta(hours=hours))
        if record := self.record():
            write_json(self.tree.heartbeat_file("leaf-7"), record | {"last_heartbeat_at": then})
        for file in (self.root / LEDGER_DIRECTORY).glob("*.json"):
            file.write_text(re.sub(r'("startedAt": )"[^"]*"', rf'\1"{then}"', file.read_text()))

    def attempts(self):
        (file,) = (self.root / LEDGER_DIRECTORY).glob("*.json")
        return [row["status"] for row in json.loads(file.read_text())["attempts"]]


@pytest.fixture
def parent(tmp_path, monkeypatch):
    monkeypatch.delenv("DEFT_SESSION_ID", raising=False)
    return Parent(tmp_path)


@pytest.fixture
def worker(parent):
    """Starts the worker in its worktree."""
    started = []

    def worker():
        process = subprocess.Popen([sys.executable, "-c", WORKER], cwd=parent.tree.root)
        started.append(process)
        until(lambda: parent.record().get("phase") == "implementing", "the worker's beat")
        return process

    yield worker
    for process in started:
        process.kill()
        process.wait()


def test_from_dispatch_over_steer_and_death_to_the_next_attempt(parent, worker):
    # dispatched: the directory is there, the worker is not yet, and nobody may take it over
    assert parent.begin()[0] == 0
    code, said = parent.alive()
    assert (code, "REDISPATCH_OK" in said) == (1, False)
    assert parent.begin()[1].count("DENY_DUPLICATE_ACTIVE") >= 1

    # it beats: alive, and not to be cancelled
    process = worker()
    assert parent.alive()[0] == 0
    assert parent("agent:monitor", "--scratch-dir", "tree/.deft-scratch/subagent-status")[0] == 0
    code, said = parent.cancel()
    assert (code, "pre-cancel refused" in said) == (1, True)

    # steered, and it says that it was
    steer = (
        "subagent:steer",
        "--agent",
        "leaf-7",
        "--writer-id",
        "run-42",
        "--kind",
        "note",
        "--text",
        "which step?",
    )
    assert parent(*steer, "--target-id", "tree")[0] == 0
    until(lambda: parent.unread()[0] == 0, "the ack")
    assert parent.record()["last_message"] == "applied: which step?"

    # killed: silent, but nothing is proven before the threshold
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert parent.record()["terminal_state"] is None
    assert parent.alive()[0] == 0

    # half an hour later it is
    (parent.tree.steer_directory / "leaf-7.json").unlink()
    parent.hours_pass(1)
    code, said = parent.alive()
    assert (code, "\nREDISPATCH_OK: leaf-7\n" in said) == (1, True)
    assert parent.begin()[0] == 1
    code, said = parent.pre_cancel()
    assert (code, "heartbeat-stale-or-missing-after-first" in said) == (0, True)
    assert parent.cancel()[0] == 0

    # begun again: the old record does not condemn the new worker within its grace
    assert parent.begin()[0] == 0
    assert parent.attempts() == ["cancelled", "running"]
    code, said = parent.alive()
    assert (code, "REDISPATCH_OK" in said) == (1, False)
    assert parent.pre_cancel()[0] == 1
    worker()
    assert parent.alive()[0] == 0


def test_a_worker_that_dies_before_its_first_beat_is_taken_over_when_the_grace_is_over(parent):
    parent.begin()
    assert "REDISPATCH_OK" not in parent.alive()[1]
    parent.hours_pass(1)
    assert "REDISPATCH_OK: leaf-7" in parent.alive()[1]
    assert "heartbeat-grace-expired-missing" in parent.cancel()[1]
    assert parent.begin()[0] == 0
