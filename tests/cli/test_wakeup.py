from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pexpect
import pytest

from strawboss.cli.main import main
from strawboss.system.process_identity import identify
from strawboss.wakeup.abandoned import host
from strawboss.wakeup.store import cycles
from strawboss.wakeup.store.database import open_database

PROGRAM = "from strawboss.cli.main import main; main()"
AGENTS = """\
agents:
  - name: researcher
    id: agent-a1b2
    title: Market Analyst
    capabilities: {research: 4}
    scope: read-only
    command: [sh, -c, "echo found it"]
    budget: 50000
  - {name: coder, command: [cat], budget: 100000}
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("STRAWBOSS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("STRAWBOSS_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("STRAWBOSS_AGENTS", str(tmp_path / "agents.yaml"))
    (tmp_path / "agents.yaml").write_text(AGENTS)
    return tmp_path


class Ran:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    def run(*arguments: str) -> Ran:
        with pytest.raises(SystemExit) as left:
            main(list(arguments))
        out, err = capsys.readouterr()
        return Ran(int(left.value.code or 0), out, err)

    return run


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "give --agent NAME or set STRAWBOSS_AGENT"),
        (["--agent", "nobody"], "no agent is named 'nobody'; there are: researcher, coder"),
        (["--wake", "nobody"], "no agent is named 'nobody'"),
        (["--check-all", "--history"], "--check-all and --history are different things"),
        (["--check-all", "--agent", "coder"], "--agent does not go with --check-all"),
        (["--check-all", "--interval", "3m"], "--timeout must be longer than --interval"),
        (["--check-all", "--interval", "soon"], "write for example 90s"),
        (["--check-all", "--timeout", "0s"], "write for example 90s"),
        (["--check-all", "--on-stall", "panic"], "'warn', 'restart', 'reassign', 'kill'"),
        (["--agent", "coder", "--on-stall", "kill"], "--on-stall goes with --check-all"),
        (["--agent", "coder", "--last", "3"], "--last goes with --history"),
        (["--history", "--last", "0"], "0 is not in the range"),
        (["--history", "--every", "1s"], "--every does not go with --history"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(run, arguments: list[str], complaint: str) -> None:  # type: ignore[no-untyped-def]
    ran = run("heartbeat", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert complaint in ran.err


def test_the_arguments_and_defaults_are_these() -> None:
    from strawboss.cli.wakeup import heartbeat

    found = {option.opts[0]: option.get_default(click.Context(heartbeat)) for option in heartbeat.params}
    specified = {
        "--check-all": False,
        "--interval": "60s",
        "--timeout": "180s",
        "--history": False,
        "--last": 10,
    }
    assert {name: found[name] for name in specified} == specified
    assert found["--on-stall"] == "warn"
    assert {"--agent", "--wake"} <= found.keys()


@pytest.mark.parametrize(
    ("variable", "value", "complaint"),
    [
        ("STRAWBOSS_STORE", "mysql://x/y", "the task store: STRAWBOSS_STORE is no address of a store"),
        ("STRAWBOSS_AGENTS", "/dev/null/agents.yaml", "agents.yaml: cannot be read"),
    ],
)
def test_a_store_or_registry_that_cannot_be_used_is_one_line(  # type: ignore[no-untyped-def]
    run, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, complaint: str
) -> None:
    monkeypatch.setenv(variable, value)
    ran = run("heartbeat", "--check-all")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert complaint in ran.err


def test_a_cycle_is_a_markdown_table_when_piped(run, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("STRAWBOSS_AGENT", "researcher")
    task = run("task", "add", "Analyze competitor pricing", "--priority", "high").out.strip()
    ran = run("heartbeat")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[:4] == [
        "## Heartbeat — researcher (agent-a1b2)",
        "",
        "| Step | Status | Detail |",
        "| --- | --- | --- |",
    ]
    assert lines[4:10] == [
        "| 1. Identity | done | researcher / Market Analyst / scope: read-only |",
        "| 2. Approvals | done | 0 pending |",
        "| 3. Fetch tasks | done | 1 available task |",
        f'| 4. Select work | done | {task}: "Analyze competitor pricing" (priority: high) |',
        "| 5. Checkout | done | Lock acquired |",
        "| 6. Understand | done | Loaded 0 context files (0 tokens) |",
    ]
    assert lines[10] == "| 7. Execute | running | ... |"
    assert re.fullmatch(r"\| 7. Execute \| done \| 0 tokens in \d+s \|", lines[11])
    assert lines[12:] == [
        "| 8. Update | done | in_progress → complete |",
        "| 9. Delegate | done | 0 sub-tasks |",
        "| 3. Fetch tasks | done | 0 available tasks |",
    ]


def test_a_cycle_with_a_failed_step_ends_with_1_and_its_json_is_one_object(run) -> None:  # type: ignore[no-untyped-def]
    run("task", "add", "read it", "--file", "missing.md")
    ran = run("heartbeat", "--agent", "coder", "--json")
    assert ran.code == 1
    steps = json.loads(ran.out)["steps"]
    assert [step["status"] for step in steps][5] == "failed"
    assert "context file 'missing.md': No such file or directory; the task is blocked" in steps[5]["detail"]


def test_the_health_of_all_is_a_table_and_0_when_all_are_well(run) -> None:  # type: ignore[no-untyped-def]
    ran = run("heartbeat", "--check-all")
    assert (ran.code, ran.out.splitlines()) == (
        0,
        [
            "## Agent Health — All Agents",
            "",
            "| Agent | Status | Last Heartbeat | Current Task | Budget Used |",
            "| --- | --- | --- | --- | --- |",
            "| researcher | idle | never | — | 0/50,000 |",
            "| coder | idle | never | — | 0/100,000 |",
        ],
    )


def test_an_agent_that_needs_attention_is_an_alert_a_history_entry_and_exit_1(run, home: Path) -> None:  # type: ignore[no-untyped-def]
    record = home / "state/agents/coder/.deft-scratch/subagent-status/agent-coder.json"
    record.parent.mkdir(parents=True)
    record.write_text('{"agent_id": "agent-coder", "parent_id": "p", "last_heartbeat_at": "2020-01-01T00:00:00Z",'
                      ' "last_message": "writing\\u001b[2J", "phase": "polling"}')  # fmt: skip
    os.utime(record, (1577836800, 1577836800))
    ran = run("heartbeat", "--check-all")
    assert ran.code == 1
    assert re.search(r"### Alerts\n- coder: STALLED \(exceeded 180s timeout; suspect source", ran.out)
    assert "Action: warn.\n" in ran.out
    assert "\x1b" not in ran.out
    history = run("heartbeat", "--history", "--last", "1")
    assert "| coder | alert: stalled | — | exceeded 180s timeout" in history.out
    assert json.loads(run("heartbeat", "--history", "--json").out)["events"][-1]["event"] == "alert: stalled"


def begin_a_wakeup() -> None:
    """Of the coder, by this process."""
    me = identify(os.getpid())
    assert me is not None
    database = open_database()
    with database.write() as connection:
        cycles.begin(connection, "coder", host(), me, None, database.now())
    database.close()


def test_waking_a_healthy_agent_says_so(run) -> None:  # type: ignore[no-untyped-def]
    begin_a_wakeup()
    ran = run("heartbeat", "--wake", "coder")
    assert (ran.code, ran.out) == (0, "coder is healthy: nothing to do\n")


def test_in_a_terminal_the_tables_are_drawn_and_live() -> None:
    command = [sys.executable, "-c", PROGRAM, "heartbeat", "--agent", "coder"]
    child = pexpect.spawn(command[0], command[1:], env={**os.environ, "TERM": "xterm"}, dimensions=(40, 120))
    child.expect("1. Identity")
    child.expect("running")
    child.expect("3. Fetch tasks")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


def test_a_resident_monitor_looks_again_and_again_and_ends_when_told() -> None:
    command = [sys.executable, "-c", PROGRAM, "heartbeat", "--check-all", "--every", "0.05s", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as monitor:
        assert monitor.stdout is not None
        looks = [json.loads(monitor.stdout.readline()) for _ in range(3)]
        monitor.terminate()
    assert [look["well"] for look in looks] == [True] * 3


def test_under_json_an_agent_that_runs_already_is_one_document_as_well(run) -> None:  # type: ignore[no-untyped-def]
    begin_a_wakeup()
    ran = run("heartbeat", "--agent", "coder", "--json")
    said = json.loads(ran.out)
    assert (ran.code, said["ok"], said["exit_code"]) == (1, False, 1)
    assert "coder runs already" in said["error"]
    assert said["error"] in ran.err
