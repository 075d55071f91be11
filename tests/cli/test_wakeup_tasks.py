from __future__ import annotations

import json
import os
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from strawboss.cli.main import main, strawboss

AGENTS = """\
agents:
  - {name: writer, capabilities: [words], command: [cat], budget: 40}
  - {name: clerk, permissions: [], command: [cat]}
  - {name: chief, permissions: [approve, delegate], command: [cat]}
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("STRAWBOSS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("STRAWBOSS_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("STRAWBOSS_AGENTS", str(tmp_path / "agents.yaml"))
    (tmp_path / "agents.yaml").write_text(AGENTS)
    return tmp_path


def run(*arguments: str, agent: str = "", task: str = "", cycle: str = "") -> Result:
    environment = {"STRAWBOSS_AGENT": agent, "STRAWBOSS_TASK": task, "STRAWBOSS_CYCLE": cycle}
    return CliRunner(env=environment).invoke(strawboss, list(arguments), standalone_mode=False)


def said(*arguments: str, **who: str) -> str:
    ran = run(*arguments, **who)
    assert ran.exception is None, ran.exception
    return ran.output.strip()


def complaint(*arguments: str, **who: str) -> str:
    ran = run(*arguments, **who)
    assert ran.exception is not None, ran.output
    assert isinstance(ran.exception, click.ClickException)
    return ran.exception.format_message()


def show(task: str) -> dict[str, object]:
    return json.loads(said("task", "show", task, "--json"))


def test_a_task_is_added_listed_and_shown_with_all_its_wishes() -> None:
    first = said("task", "add", "first")
    second = said(
        "task", "add", "a | b", "--priority", "urgent", "--deadline", "2h", "--complexity", "5", "--file", "x.md",
        "--after", first, "--needs-capability", "words", "--to", "writer", "--parent", first, "--body", "at length",
    )  # fmt: skip
    lines = said("task", "list").splitlines()
    assert lines[2:] == [
        f"| {second} | open | urgent | a \\| b | writer | {first} |",
        f"| {first} | open | normal | first | — | — |",
    ]
    found = show(second)
    assert (found["body"], found["complexity"], found["files"]) == ("at length", 5, ["x.md"])
    assert (found["capabilities"], found["parent"], found["created_by"]) == (["words"], first, "boss")
    assert "| deadline | 20" in said("task", "show", second)
    assert json.loads(said("task", "list", "--json"))["tasks"][0]["id"] == second


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["task", "add", ""], "title"),
        (["task", "add", "x", "--priority", "huge"], "'low', 'normal', 'high', 'urgent'"),
        (["task", "add", "x", "--complexity", "9"], "range"),
        (["task", "add", "x", "--deadline", "soon"], "write for example 2h or 2026-12-24T18:00Z"),
        (
            ["task", "add", "x", "--deadline", "2026-12-24T18:00"],
            "no time zone; write for example 2026-12-24T18:00Z",
        ),
        (["task", "add", "x", "--after", "task-none"], "no task 'task-none'"),
        (["task", "add", "x", "--to", "nobody"], "no agent is named 'nobody'"),
        (["task", "show", "task-none"], "no task 'task-none'"),
        (["task", "done", "task-none"], "no task 'task-none'"),
        (["task", "block", "task-none"], "--reason"),
        (["release", "task-none"], "no task 'task-none'"),
        (["delegate", "x"], "give --task TASK"),
        (["approve", "approval-none"], "no approval request"),
        (["approve", "--ask", "may I?"], "give --task TASK"),
        (["approve", "x", "--ask", "may I?"], "--ask goes with --task only"),
        (["budget", "--reset"], "whose?"),
        (["budget", "nobody"], "no agent is named"),
        (["inbox", "nobody"], "no agent is named"),
        (["agent", "add", "writer", "--command", "cat"], "two agents have the name 'writer'"),
        (["agent", "add", "../x", "--command", "cat"], "name"),
        (["agent", "add", "x", "--command", "cat", "--capability", "a=9"], "research=4"),
        (["agent", "add", "x", "--command", "cat", "--pty"], "{prompt}"),
    ],
)
def test_bad_input_is_refused_with_what_to_write_instead(arguments: list[str], words: str) -> None:
    assert words in complaint(*arguments)


def test_bad_input_is_one_line_and_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["task", "show", "task-\nnone"])
    err = capsys.readouterr().err
    assert (left.value.code, err.count("\n")) == (2, 1)


def test_a_task_is_locked_by_one_and_is_a_409_for_others() -> None:
    task = said("task", "add", "x")
    assert said("checkout", task, agent="writer") == f"Lock acquired: {task} for 180s"
    ran = run("checkout", task, "--agent", "clerk", "--json")
    assert ran.return_value == 1
    assert json.loads(ran.output)["locked"] is False
    assert run("checkout", task).output.startswith("409: it is locked by writer until ")
    assert "not checked out by clerk" in complaint("release", task, agent="clerk")
    assert said("release", task, agent="writer") == f"{task} is available again"
    assert "is not checked out" in complaint("release", task)
    assert show(task)["attempts"] == 1


def test_what_a_person_takes_and_gives_back_is_no_attempt() -> None:
    task = said("task", "add", "a task")
    for _ in range(4):
        said("checkout", task)
        said("release", task)
    assert (show(task)["attempts"], show(task)["status"]) == (0, "open")
    assert "lock_token" not in show(task)


def test_an_agent_ends_its_own_task_only_and_a_person_any() -> None:
    mine, other = said("task", "add", "mine"), said("task", "add", "other")
    said("checkout", mine, agent="writer")
    assert "not checked out by writer" in complaint("task", "done", other, agent="writer")
    said("task", "done", mine, "--result", "here", agent="writer")
    assert (show(mine)["status"], show(mine)["result"], show(mine)["finished_by"]) == (
        "complete",
        "here",
        "writer",
    )
    said("task", "block", other, "--reason", "no paper")
    assert "has ended before" in complaint("task", "done", other)
    assert said("task", "open", other) == f"{other} is available again"
    assert "is not blocked" in complaint("task", "open", other)
    assert other in said("task", "list")
    assert mine not in said("task", "list")
    assert mine in said("task", "list", "--all")


def test_a_person_delegates_at_once_and_an_agent_at_work_plans() -> None:
    task = said("task", "add", "whole")
    now = said("delegate", "part", "--task", task, "--to", "writer")
    planned = said("delegate", "another part", agent="chief", task=task, cycle="cycle-1")
    assert (show(now)["status"], show(now)["parent"]) == ("open", task)
    assert (show(planned)["status"], show(planned)["planned_by"]) == ("planned", "cycle-1")
    assert "for you: part" in said("inbox", "writer")
    assert "clerk may not delegate" in complaint("delegate", "x", agent="clerk", task=task)


def test_a_task_waits_for_its_approval_which_only_a_person_or_a_permitted_agent_gives() -> None:
    task = said("task", "add", "x", "--needs-approval", "May it?")
    request = json.loads(said("approve", "--json"))["approvals"][0]["id"]
    assert f"| {request} | {task} | May it? | boss |" in said("approve")
    assert "writer may not approve" in complaint("approve", request, agent="writer")
    assert "is denied" in said("approve", request, "--deny", "--note", "no", agent="chief")
    asked = said("approve", "--ask", "And now?", agent="writer", task=task)
    assert asked in said("approve")


def test_an_inbox_is_read_once_by_its_owner_and_looking_at_anothers_does_not_count() -> None:
    task = said("task", "add", "whole")
    said("delegate", "part", "--task", task, "--to", "writer")
    for _ in range(2):
        assert "for you: part" in said("inbox", "writer")
    assert "for you: part" in said("inbox", agent="writer")
    assert "for you: part" not in said("inbox", agent="writer")
    assert json.loads(said("inbox", "writer", "--all", "--json"))["messages"][0]["body"] == "for you: part"


def test_budgets_are_shown_and_reset_by_a_person() -> None:
    assert said("budget").splitlines()[2:] == [
        "| writer | 0/40 | 40 |", "| clerk | 0/unlimited | unlimited |", "| chief | 0/unlimited | unlimited |",
    ]  # fmt: skip
    assert json.loads(said("budget", "writer", "--reset", "--json"))["budgets"] == [
        {"agent": "writer", "used": 0, "budget": 40}
    ]
    assert "only a person" in complaint("budget", "writer", "--reset", agent="writer")


def test_agents_are_added_and_listed(home: Path) -> None:
    added = said(
        "agent", "add", "coder", "--title", "Engineer", "--capability", "python=5", "--command", "pi -p"
    )
    assert added.startswith("coder (agent-")
    assert said("agent", "list").splitlines()[-1].endswith(" | Engineer | python 5 | read-write | pi -p |")
    assert json.loads(said("agent", "list", "--json"))["agents"][-1]["title"] == "Engineer"
    assert (home / "agents.yaml").read_text().startswith(AGENTS)
