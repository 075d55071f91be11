"""An agent that hangs: its wake-up lives and beats, its command does nothing. Real processes, judged from outside."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from strawboss.wakeup.agents import Agent, Registry
from strawboss.wakeup.cycle import Rhythm
from strawboss.wakeup.health import Health
from strawboss.wakeup.inspection import Inspection, check_all
from strawboss.wakeup.monitor import look
from strawboss.wakeup.responses import OnStall
from strawboss.wakeup.store import tasks
from strawboss.wakeup.store.database import Database
from strawboss.wakeup.store.tasks import NewTask

pytestmark = pytest.mark.slow

TIMEOUT = 3.0
HANGS = ["sleep", "7654"]
MURMURS = ["sh", "-c", "while sleep 0.3; do echo still here >&2; done"]
PI_AT_WORK = [
    "sh",
    "-c",
    """while sleep 0.3; do echo '{"type":"tool_execution_start","toolName":"bash"}'; done""",
]
COMPUTES = [sys.executable, "-c", "while True: pass"]
ITS_CHILD_COMPUTES = [sys.executable, "-c", "import os\nif os.fork() == 0:\n  while True: pass\nos.wait()"]
# What `agent:beat` does, from inside the workspace.
BEATING = """
import time
from datetime import UTC, datetime
from pathlib import Path
from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.record import Beat
from strawboss.system.json_files import write_json
while True:
    beat = Beat("agent-a", "p", "implementing", "thinking hard")
    write_json(Worktree(Path.cwd()).heartbeat_file("agent-a"), beat.content(datetime.now(UTC)))
    time.sleep(0.3)
"""
BEATS_ITSELF = [sys.executable, "-c", BEATING]


@contextmanager
def at_work(database: Database, agent: Agent) -> Iterator[None]:
    with database.write() as connection:
        tasks.add(connection, NewTask("a task", "boss"), database.now())
    options = ["--agent", agent.name, "--interval", "0.5s", "--timeout", f"{TIMEOUT}s"]
    program = "from strawboss.cli.main import main; main()"
    command = [sys.executable, "-c", program, "heartbeat", *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()


def seen(registry: Registry, database: Database) -> Inspection:
    return check_all(registry.agents, database, TIMEOUT)[0]


def test_a_command_that_hangs_is_stalled_and_told_with_what_it_did_last(
    light: Database, enlist: Callable[..., Registry], until: Callable[..., object]
) -> None:
    agent = Agent("a", command=["sh", "-c", "echo counting to a million; exec sleep 7654"])
    registry = enlist(agent)
    with at_work(light, agent):
        until(lambda: seen(registry, light).finding.health is Health.STALLED, "the stall")
        found = seen(registry, light)
        assert "its wake-up beats, its command has shown nothing for" in found.finding.why
        assert found.finding.certain
        assert found.beat is not None
        assert found.beat.message == "counting to a million"
        response = look(registry, light, Rhythm(0.5, TIMEOUT), OnStall.KILL).responses["a"]
        assert response.words.startswith("kill (ended; gave back task-")


@pytest.mark.parametrize(
    "agent",
    [
        Agent("a", command=MURMURS),
        Agent("a", command=PI_AT_WORK),
        Agent("a", command=COMPUTES),
        Agent("a", command=ITS_CHILD_COMPUTES),
        Agent("a", command=BEATS_ITSELF),
        Agent("a", command=HANGS, quiet_ok=True),
    ],
    ids=["murmurs", "pi at work", "computes", "its child computes", "beats itself", "quiet is ok"],
)
def test_a_command_that_shows_anything_at_all_and_one_that_may_be_quiet_are_healthy(
    light: Database, enlist: Callable[..., Registry], until: Callable[..., object], agent: Agent
) -> None:
    registry = enlist(agent)

    def is_at_work() -> bool:
        found = seen(registry, light)
        return found.cycle is not None and found.cycle.command is not None

    with at_work(light, agent):
        until(is_at_work, "the command to run")
        over = time.monotonic() + 2 * TIMEOUT  # in which one that hangs is found
        until(lambda: time.monotonic() > over or seen(registry, light).needs_attention, "the time to pass")
        assert seen(registry, light).finding.health is Health.HEALTHY
