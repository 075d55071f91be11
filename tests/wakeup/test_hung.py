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

TIMEOUT = 8.0
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
def at_work(database: Database, *agents: Agent) -> Iterator[None]:
    """Each with a task of its own, in a process of its own."""
    with database.write() as connection:
        for agent in agents:
            tasks.add(connection, NewTask("a task", "boss", assignee=agent.name), database.now())
    program = "from strawboss.cli.main import main; main()"
    options = ["--interval", "0.5s", "--timeout", f"{TIMEOUT}s"]
    commands = [
        [sys.executable, "-c", program, "heartbeat", "--agent", agent.name, *options] for agent in agents
    ]
    processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


def seen(registry: Registry, database: Database) -> dict[str, Inspection]:
    return {one.agent.name: one for one in check_all(registry.agents, database, TIMEOUT)}


def hung(found: Inspection) -> Inspection | None:
    return found if "its wake-up beats, its command has shown nothing for" in found.finding.why else None


def test_a_command_that_hangs_is_stalled_and_told_with_what_it_did_last(
    light: Database, enlist: Callable[..., Registry], until: Callable[..., object]
) -> None:
    agent = Agent("a", command=["sh", "-c", "echo counting to a million; exec sleep 7654"])
    registry = enlist(agent)
    with at_work(light, agent):
        # A machine under load may be late with a beat first: that is another stall, and passes.
        found = until(lambda: hung(seen(registry, light)["a"]), "the stall")
        assert isinstance(found, Inspection)
        assert found.finding.health is Health.STALLED
        assert found.finding.certain
        assert found.beat is not None
        assert found.beat.message == "counting to a million"
        response = look(registry, light, Rhythm(0.5, TIMEOUT), OnStall.KILL).responses["a"]
        assert response.words.startswith("kill (ended; gave back task-")


def test_a_command_that_shows_anything_at_all_and_one_that_may_be_quiet_are_healthy(
    light: Database, enlist: Callable[..., Registry], until: Callable[..., object]
) -> None:
    team = [
        Agent("murmurs", command=MURMURS),
        Agent("pi", command=PI_AT_WORK),
        Agent("computes", command=COMPUTES),
        Agent("parent", command=ITS_CHILD_COMPUTES),
        Agent("beats", id="agent-a", command=BEATS_ITSELF),
        Agent("quiet", command=HANGS, quiet_ok=True),
    ]
    registry = enlist(*team)

    def are_at_work() -> bool:
        cycles = [one.cycle for one in seen(registry, light).values()]
        return all(cycle is not None and cycle.command is not None for cycle in cycles)

    def are_well() -> bool:
        return all(one.finding.health is Health.HEALTHY for one in seen(registry, light).values())

    with at_work(light, *team):
        until(are_at_work, "all commands to run")
        over = time.monotonic() + 1.5 * TIMEOUT  # in which one that hangs is found
        until(lambda: time.monotonic() > over or not are_well(), "the time to pass")
        assert are_well(), {name: one.finding for name, one in seen(registry, light).items()}
