"""The page on waking agents: what it says is asked for is shown by commands and held by tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from strawboss.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "wakeup.md").read_text("utf-8")
TABLES = PAGE.partition("## What is asked for, and what shows it")[2]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TABLES.splitlines()
    if line.startswith("| ") and not line.startswith("| statement |")
]
HELD = sorted(set(re.findall(r"`(tests/[^\s`:]+)::(\w+)`", TABLES)))


@pytest.mark.parametrize(("file", "test"), HELD)
def test_every_test_the_page_names_exists(file: str, test: str) -> None:
    assert re.search(rf"^(async )?def {test}\(", (ROOT / file).read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_no_cell_is_empty_and_each_statement_names_a_command_and_a_test(row: list[str]) -> None:
    assert len(row) == 3
    assert all(row)
    commands = [said.split()[0].lstrip("/") for said in re.findall(r"`([^`]+)`", row[1])]
    assert commands
    assert [word for word in commands if word not in COMMANDS] == []
    assert "::test_" in row[2]


def test_all_nine_steps_all_three_of_health_and_every_argument_are_there() -> None:
    stated = [row[0] for row in ROWS]
    cycle = TABLES.partition("### Wake-up cycle")[2].partition("### ")[0]
    assert {line[2] for line in cycle.splitlines() if re.match(r"\| \d\. ", line)} == set("123456789")
    health = TABLES.partition("### Health monitoring")[2].partition("### ")[0]
    assert {line[2] for line in health.splitlines() if re.match(r"\| \d\. ", line)} == set("123")
    for argument in ("agent", "check-all", "interval", "timeout", "history", "last", "wake", "on-stall"):
        assert any(f"`--{argument}" in statement for statement in stated), argument
    assert len(ROWS) > 50


def test_every_command_of_the_agents_is_shown() -> None:
    ours = {name for name, module in COMMANDS.items() if module in ("wakeup", "agents", "tasks", "store")}
    assert {name for name in ours if f"`{name}" not in TABLES} == set()
