"""Machines that share one store: each has a pid namespace, a host name and a state directory of its own."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest
from namespaces import namespace_command
from wakeup.postgres import Line, Server, own_server

from strawboss.wakeup.agents import Agent, Registry
from strawboss.wakeup.health import Finding, Health
from strawboss.wakeup.inspection import check_all
from strawboss.wakeup.store import tasks
from strawboss.wakeup.store.database import open_database
from strawboss.wakeup.store.events import Event, history
from strawboss.wakeup.store.tasks import NewTask, Status, Task

pytestmark = pytest.mark.slow

# A line that is cut is noticed after two seconds instead of 35.
STRAWBOSS = """
from strawboss.wakeup.store.engines import patience
patience.ANSWER_SECONDS = 2.0
from strawboss.cli.main import main
main()
"""
TIMEOUT = 8.0
PACE = ("--interval", "1s", "--timeout", f"{TIMEOUT}s")
STORED = "8. Update: done"
# Notes who does what, goes on as long as a file says so, and has a result.
WORK = """
echo "$STRAWBOSS_TASK $STRAWBOSS_AGENT" >> {log}
while [ -e {hold}-$STRAWBOSS_AGENT ]; do sleep 0.2; echo busy >&2; done
echo "by $STRAWBOSS_AGENT"
"""


class Site:
    """The machines, and what becomes of the work that is put into the store they share."""

    def __init__(self, home: Path, server: Server, stack: ExitStack, until: Callable[..., object]) -> None:
        self.home, self.server, self.until, self._stack = home, server, until, stack
        self.database = open_database(server.address)
        stack.callback(self.database.close)
        self.command = ["sh", "-c", WORK.format(log=home / "log", hold=home / "hold")]

    def start(self, number: int, store: str = "", on_stall: str = "restart") -> subprocess.Popen[bytes]:
        """A machine with one agent that stays awake, and one monitor. Killed, everything on it is."""
        environment = {
            **os.environ,
            "STRAWBOSS_STATE_DIR": str(self.home / f"state-{number}"),
            "STRAWBOSS_STORE": store or self.server.address,
        }
        heartbeat = shlex.join([sys.executable, "-c", STRAWBOSS, "heartbeat", *PACE])
        script = f"""
            hostname host-{number}
            {heartbeat} --check-all --every 2s --on-stall {on_stall} >> {self.home}/monitor-{number} 2>&1 &
            {heartbeat} --agent a{number} --every 600s >> {self.home}/agent-{number} 2>&1 &
            wait"""
        machine = subprocess.Popen([*namespace_command(), "--uts", "sh", "-c", script], env=environment)
        self._stack.callback(_end, machine)
        return machine

    def line(self) -> Line:
        """A way to the server that can be cut."""
        directory = self.server.directory / "line"
        directory.mkdir()
        return self._stack.enter_context(Line(directory, self.server))

    def add(self, count: int, **wishes: Any) -> set[str]:
        with self.database.write() as connection:
            news = (NewTask(f"task {number}", "boss", **wishes) for number in range(count))
            return {tasks.add(connection, new, self.database.now()) for new in news}

    def hold(self, agent: str) -> Path:
        """Its commands do not end as long as this file is there."""
        file = self.home / f"hold-{agent}"
        file.touch()
        return file

    def in_hand(self, agent: str) -> str:
        """The first task that the agent is at, once it is."""

        def found() -> str:
            log = self.home / "log"
            lines = log.read_text().splitlines() if log.exists() else []
            return next((line.split()[0] for line in lines if line.endswith(f" {agent}")), "")

        return str(self.until(found, f"{agent} to be at work"))

    def seen(self, registry: Registry) -> dict[str, Finding]:
        """How the agents look from a place that is on none of the machines."""
        return {one.agent.name: one.finding for one in check_all(registry.agents, self.database, TIMEOUT)}

    def tasks(self) -> dict[str, Task]:
        with self.database.read() as connection:
            return {task.id: task for task in tasks.listed(connection)}

    def complete(self) -> int:
        return sum(task.status is Status.COMPLETE for task in self.tasks().values())

    def events(self, *kinds: str) -> list[Event]:
        with self.database.read() as connection:
            return [event for event in history(connection, 100_000) if event.event.startswith(kinds)]

    def running(self) -> set[str]:
        """Tasks for which a command runs on any of the machines: out here all processes can be seen."""
        return {task for process in psutil.process_iter() if (task := _task_of(process))}


def _end(machine: subprocess.Popen[bytes]) -> None:
    machine.kill()
    machine.wait()


def _task_of(process: psutil.Process) -> str:
    try:
        return process.environ().get("STRAWBOSS_TASK", "") if process.name() == "sh" else ""
    except psutil.Error:
        return ""


@pytest.fixture
def site(home: Path, postgres: str, until: Callable[..., object]) -> Iterator[Site]:
    with ExitStack() as stack:
        yield Site(home, stack.enter_context(own_server(postgres)), stack, until)


def test_of_ten_machines_one_dies_one_is_cut_off_the_database_crashes_and_each_of_40_tasks_is_done_once(
    site: Site, enlist: Callable[..., Registry]
) -> None:
    enlist(*(Agent(f"a{number}", command=site.command) for number in range(10)))
    added, line = site.add(40), site.line()
    holds = {agent: site.hold(agent) for agent in ("a0", "a1", "a2")}
    # Three have a task in hand before the others come.
    first = [site.start(0), site.start(1, line.address), site.start(2)]
    lost, cut, _ = map(site.in_hand, holds)
    for number in range(3, 10):
        site.start(number)
    site.until(lambda: site.complete() >= 5, "the others to be at work", 120)

    # One is gone with all that runs on it, one cannot reach the database any more, and that goes down for everybody.
    _end(first[0])
    line.cut()
    site.server.stop("immediate")
    site.server.start()
    holds["a2"].unlink()

    site.until(lambda: site.complete() == 40, "all 40 to be done", 120)
    assert cut not in site.running(), "a command went on although its lock had run out"
    by = {task: found.finished_by for task, found in site.tasks().items()}
    assert by[lost] != "a0"
    assert by[cut] != "a1"

    # The one that was cut off is back as soon as it can be.
    holds["a1"].unlink()
    line.mend()
    added |= site.add(1, assignee="a1")
    site.until(lambda: len(site.events(STORED)) >= 41, "the last result")
    assert Counter(event.task for event in site.events(STORED)) == Counter(added)
    assert all(found.result == f"by {found.finished_by}" for found in site.tasks().values())
    # Nobody was taken for dead but those two: what a monitor cannot see it leaves to the monitor there.
    assert {event.agent for event in site.events("alert: dead", "restart: began")} <= {"a0", "a1"}
    assert "a0" in {event.agent for event in site.events("restart: ended")}


def test_of_two_machines_each_takes_its_task_neither_calls_the_others_agent_dead_and_one_that_is_gone_is_found(
    site: Site, enlist: Callable[..., Registry]
) -> None:
    registry = enlist(*(Agent(f"a{number}", command=site.command) for number in range(2)))
    holds = {agent: site.hold(agent) for agent in ("a0", "a1")}
    added = site.add(2)
    machines = [site.start(number, on_stall="warn") for number in range(2)]
    in_hand = {agent: site.in_hand(agent) for agent in holds}
    assert set(in_hand.values()) == added

    # Each monitor has looked at both since.
    for number in range(2):
        log = site.home / f"monitor-{number}"
        site.until(lambda: log.read_text().count("| a1 | healthy |") >= 2, "the monitor to see them")  # noqa: B023
        assert "dead" not in log.read_text()
    assert {found.health for found in site.seen(registry).values()} == {Health.HEALTHY}

    _end(machines[0])
    site.until(
        lambda: site.seen(registry)["a0"].health is Health.DEAD, "the machine that is gone to be found"
    )
    assert "its host is gone" in site.seen(registry)["a0"].why
    assert site.seen(registry)["a1"].health is Health.HEALTHY
    holds["a1"].unlink()
    site.until(lambda: site.complete() == 2, "its task to come free and be done by the other")
    assert {found.result for found in site.tasks().values()} == {"by a1"}
