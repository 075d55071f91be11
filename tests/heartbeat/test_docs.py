import re
from pathlib import Path

import pytest

from strawboss.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "heartbeat.md").read_text()
HELD = sorted(set(re.findall(r"`(tests/[^\s`:]+)::(\w+)`", PAGE)))
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if re.match(r"\| [!⊗~?] \|", line)
]
# Whose a statement is that no command of ours can show.
OTHERS = re.compile(
    r"the (host|worker|parent|model)'s |a matter of the hosts|a statement about (hosts|people)"
)


@pytest.mark.parametrize(("file", "test"), HELD)
def test_every_test_the_page_names_exists(file, test):
    assert re.search(rf"^def {test}\(", (ROOT / file).read_text(), re.MULTILINE)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[1])
def test_no_cell_is_empty_and_each_statement_names_a_command_and_a_test_or_whose_it_is(row):
    _mark, _statement, shown, held = row
    assert all(row)
    commands = [said.split()[0] for said in re.findall(r"`([^`]+)`", shown) if not said.startswith("-")]
    assert [word for word in commands if word not in COMMANDS and word != "/beat"] == []
    assert commands or OTHERS.match(shown)
    assert "::test_" in held or (held == "no file shows it" and OTHERS.match(shown))


def test_the_page_lists_musts_must_nots_shoulds_and_mays():
    assert {row[0] for row in ROWS} == {"!", "⊗", "~", "?"}
    assert len(ROWS) > 80


def test_every_command_of_the_contract_is_shown():
    shown = set(re.findall(r"`([a-z-]+:[a-z-]+|occupancy|github-auth-modes)\b", PAGE))
    assert {name for name in COMMANDS if ":" in name or name in ("occupancy", "github-auth-modes")} <= shown
