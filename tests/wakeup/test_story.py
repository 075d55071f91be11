"""The whole protocol with real processes and real pi, against a model on loopback."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import psutil
import pytest
from click.testing import CliRunner
from e2e.pi_install import pi_binary, pi_environment
from standins.model import Answer, Hang, Model, Request, Text, instructed

from strawboss.cli.main import strawboss
from strawboss.wakeup.agents import Agent, Registry
from strawboss.wakeup.health import Health
from strawboss.wakeup.inspection import Inspection, check_all
from strawboss.wakeup.store import tasks
from strawboss.wakeup.store.database import Database
from strawboss.wakeup.store.events import Event, history
from strawboss.wakeup.store.tasks import Status, Task

pytestmark = pytest.mark.slow

OWN_TASK = re.compile(r"^# Your task, (task-\w+):.*?(?=^# |^While you work)", re.MULTILINE | re.DOTALL)
TIMEOUT = 6.0
PACE = ("--interval", "0.5s", "--timeout", f"{TIMEOUT}s")


class Script:
    """Does what the own task says, not what its parents say; the first time it is asked to hang, it does."""

    def __init__(self) -> None:
        self.has_hung = threading.Event()

    def __call__(self, request: Request) -> Answer:
        task = OWN_TASK.search(request.prompt)
        assert task is not None, request.prompt
        if "HANG ONCE" in task[0]:
            if self.has_hung.is_set():
                return Text("this time it went well")
            self.has_hung.set()
            return Hang()
        return instructed(
            Request(({"role": "user", "content": task[0]}, *self._since(request)), request.tools)
        )

    @staticmethod
    def _since(request: Request) -> tuple[dict[str, object], ...]:
        newest = max(i for i, message in enumerate(request.messages) if message["role"] == "user")
        return request.messages[newest + 1 :]


class World:
    """Agents as processes, and the command line as people use it."""

    def __init__(
        self,
        environment: dict[str, str],
        registry: Registry,
        database: Database,
        until: Callable[..., object],
    ) -> None:
        self.environment, self.registry, self.database, self.until = environment, registry, database, until
        self.agents: dict[str, subprocess.Popen[bytes]] = {}

    def run(self, *arguments: str, code: int | None = 0) -> str:
        command = [sys.executable, "-c", "from strawboss.cli.main import main; main()", *arguments]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60)
        assert code is None or done.returncode == code, (
            f"{arguments}: {done.returncode} {done.stdout} {done.stderr}"
        )
        return done.stdout.strip()

    def json(self, *arguments: str, code: int | None = 0) -> dict[str, list[dict[str, object]]]:
        return json.loads(self.run(*arguments, "--json", code=code))

    def start(self, agent: str) -> None:
        command = [
            sys.executable,
            "-c",
            "from strawboss.cli.main import main; main()",
            "heartbeat",
            "--agent",
            agent,
        ]
        self.agents[agent] = subprocess.Popen([*command, *PACE, "--every", "1s"], env=self.environment)

    def tasks(self) -> dict[str, Task]:
        with self.database.read() as connection:
            return {task.title: task for task in tasks.listed(connection)}

    def events(self) -> list[Event]:
        with self.database.read() as connection:
            return history(connection, 10_000)

    def wait_for(self, title: str, status: Status) -> Task:
        def arrived() -> bool:
            task = self.tasks().get(title)
            return task is not None and task.status is status

        self.until(arrived, f"{title} to be {status}")
        return self.tasks()[title]

    def health(self, agent: str) -> Inspection:
        found = check_all(self.registry.agents, self.database, TIMEOUT)
        return next(one for one in found if one.agent.name == agent)


@pytest.fixture
def world(
    home: Path, light: Database, enlist: Callable[..., Registry], until: Callable[..., object]
) -> Iterator[World]:
    desk = home / "desk"
    desk.mkdir()
    pi = [str(pi_binary()), "--mode", "json", "--no-session", "--system-prompt", "{system_prompt}"]
    common = Agent("researcher", workspace=str(desk), system_prompt="You are careful.", command=pi)
    registry = enlist(
        msgspec.structs.replace(
            common, title="Market Analyst", scope="read-only", capabilities=["research"], budget=50_000
        ),
        msgspec.structs.replace(
            common, name="writer", title="Author", capabilities={"writing": 4}, budget=40
        ),
        msgspec.structs.replace(
            common, name="coder", title="Engineer", capabilities=["python"], budget=100_000
        ),
    )
    with Model(home / "model.log", Script()) as model:
        places = {name: value for name, value in os.environ.items() if name.startswith("STRAWBOSS_")}
        environment = pi_environment(home, model.url, **places)
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
        world = World(environment, registry, light, until)
        yield world
        model.release()
        for cycle in psutil.Process().children(recursive=True):
            cycle.send_signal(signal.SIGCONT)
            cycle.terminate()
        for process in world.agents.values():
            process.wait(20)


def test_three_agents_do_ten_tasks_through_a_stall_an_approval_a_delegation_and_an_empty_purse(
    world: World,
) -> None:
    def add(title: str, body: str, *options: str) -> str:
        return CliRunner().invoke(strawboss, ["task", "add", title, "--body", body, *options]).output.strip()

    (Path(world.environment["STRAWBOSS_STATE_DIR"]).parent / "desk" / "style.md").write_text(
        "Short sentences."
    )
    research, writing, python = (("--needs-capability", name) for name in ("research", "writing", "python"))
    delegating = json.dumps({"command": "strawboss delegate 'Plot it' --to coder --body 'SAY plotted'"})
    asking = json.dumps({"command": "strawboss task list"})
    prices = add("Collect prices", "SAY prices.csv", *research, "--priority", "high")
    compare = add("Compare", f"CALL bash {delegating}\nSAY compared", *research, "--after", prices)
    add("Watch the market", "HANG ONCE", *research, "--after", compare)
    report = add("Write the report", "SAY report.md", *writing, "--after", compare, "--file", "style.md")
    publish = add(
        "Publish", "SAY published", *writing, "--after", report, "--needs-approval", "May it go out?"
    )
    add("Thank everybody", f"CALL bash {asking}\nSAY thanks", *writing, "--after", publish)
    add("Write the sequel", "SAY sequel.md", *writing, "--after", publish, "--priority", "low")
    script = add("Write a script", "SAY script.py", *python)
    test = add("Test the script", "SAY green", *python, "--after", script)
    add("Ship the script", "SAY shipped", *python, "--after", test, "--deadline", "2h")
    assert len(world.tasks()) == 10

    for agent in ("researcher", "writer", "coder"):
        world.start(agent)

    # Dependencies, context files, results, and the sub-task that was identified while working.
    assert world.wait_for("Ship the script", Status.COMPLETE).result == "shipped"
    plotted = world.wait_for("Plot it", Status.COMPLETE)
    assert (plotted.parent, plotted.created_by, plotted.finished_by) == (compare, "researcher", "coder")
    assert world.wait_for("Write the report", Status.COMPLETE).finished_by == "writer"

    # One stalls: its whole process stands still in the middle of a task. It is restarted and does the task again.
    world.wait_for("Watch the market", Status.IN_PROGRESS)
    stalled = world.health("researcher").cycle
    assert stalled is not None
    os.kill(stalled.process.pid, signal.SIGSTOP)
    world.until(lambda: world.health("researcher").finding.health is Health.STALLED, "the stall to be seen")
    table = world.run("heartbeat", "--check-all", "--on-stall", "restart", *PACE, code=1)
    assert re.search(r"\| researcher \| stalled \| \d+s ago \| task-\w+ \| \d+/50,000 \|", table), table
    alert = r"### Alerts\n- researcher: STALLED \(exceeded 6s timeout\)\. Last activity: .+\. "
    assert re.search(alert + r"Action: restart \(now pid \d+\)\.", table), table
    assert world.agents["researcher"].wait(10) == -signal.SIGKILL
    assert world.wait_for("Watch the market", Status.COMPLETE).result == "this time it went well"
    again = world.health("researcher").cycle
    assert again is not None
    assert (again.process.pid != stalled.process.pid, again.every) == (True, 1.0)

    # One approval, on which two tasks wait.
    assert world.tasks()["Publish"].status is Status.WAITING
    request = world.json("approve")["approvals"][0]
    world.run("approve", str(request["id"]), "--note", "well done")
    world.wait_for("Publish", Status.COMPLETE)

    # One purse is empty in the middle of a task: 15 tokens a turn, 40 in all.
    assert (
        world.wait_for("Thank everybody", Status.BLOCKED).reason
        == "the budget of writer ran out (45/40 tokens)"
    )
    refused = "the budget is used up (45/40)"
    world.until(lambda: any(refused in event.detail for event in world.events()), "the refusal")
    assert world.tasks()["Write the sequel"].status is Status.OPEN
    assert "| writer | 45/40 | 0 |" in world.run("budget")

    # Everybody goes to bed when asked to, and the books are right.
    for agent in ("writer", "coder"):
        world.agents[agent].terminate()
        assert world.agents[agent].wait(20) == 128 + signal.SIGTERM
    os.kill(again.process.pid, signal.SIGTERM)
    world.until(lambda: all(world.health(name).cycle is None for name in world.agents), "everybody to sleep")
    statuses = [task.status for task in world.tasks().values()]
    assert (statuses.count(Status.COMPLETE), len(statuses)) == (9, 11)
    messages = {str(message["body"]) for message in world.json("inbox")["messages"]}
    assert {"Collect prices: complete\nprices.csv", "Publish: complete\npublished"} <= messages
    kinds = [event.event for event in world.events()]
    assert kinds.index("restart: began") < kinds.index("restart: ended")
    assert "| restart: began |" in world.run("heartbeat", "--history", "--last", "5000")
