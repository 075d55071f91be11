from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from strawboss.cli.main import strawboss

DAY = 86_400


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("STRAWBOSS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("STRAWBOSS_STATE_DIR", str(tmp_path / "state"))
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(strawboss, list(arguments), standalone_mode=False)


def refused(*arguments: str) -> str:
    complaint = run(*arguments).exception
    assert complaint is not None
    return complaint.format_message()  # type: ignore[attr-defined]


def test_a_mistyped_path_creates_nothing_and_create_makes_a_private_store(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home / "a # b.sqlite"
    monkeypatch.setenv("STRAWBOSS_STORE", f"sqlite:///{home}/a %23 b.sqlite")
    for command in (["task", "list"], ["store", "check"], ["store", "prune", "--older-than", "30d"]):
        assert "there is no such file; mend STRAWBOSS_STORE, or write: strawboss store create" in refused(
            *command
        )
    assert list(home.iterdir()) == []
    assert run("store", "create").output == f"the task store is there: {file}\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    task = run("task", "add", "first").output.strip()
    run("store", "create")
    assert task in run("task", "list").output


def test_create_does_not_make_the_directory_of_a_mistyped_path(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRAWBOSS_STORE", f"sqlite:///{home}/typo/x.sqlite")
    assert "make its directory first" in refused("store", "create")
    assert not (home / "typo").exists()


def test_a_store_that_is_well_says_what_is_in_it() -> None:
    run("task", "add", "first")
    ran = run("store", "check")
    assert (ran.return_value, ran.output[:25]) == (0, "the task store is well: 0")
    assert "1 tasks" in ran.output
    found = json.loads(run("store", "check", "--json").output)
    assert (found["well"], found["complaints"], found["rows"]["tasks"]) == (True, [], 1)


def test_a_store_that_contradicts_itself_is_told_line_by_line_with_1(home: Path) -> None:
    import sqlite3

    task = run("task", "add", "first").output.strip()
    with sqlite3.connect(home / "state" / "store.sqlite") as connection:
        connection.execute("UPDATE tasks SET lock_token = 'x'")
    connection.close()
    ran = run("store", "check")
    assert (ran.return_value, ran.output) == (1, f"{task}: it is open and has a lock\n")
    assert json.loads(run("store", "check", "--json").output)["complaints"] == [ran.output.strip()]


def test_old_history_and_output_are_forgotten_and_what_an_open_wake_up_writes_is_not(home: Path) -> None:
    import sqlite3

    run("task", "add", "first")
    output = home / "state" / "output"
    output.mkdir()
    for name, age in (("old", 40), ("young", 1), ("task-1-cycle-open", 40)):
        (output / f"{name}.log").write_text("")
        at = (output / f"{name}.log").stat().st_mtime - age * DAY
        os.utime(output / f"{name}.log", (at, at))
    with sqlite3.connect(home / "state" / "store.sqlite") as connection:
        connection.execute(
            "INSERT INTO events (at, agent, event, detail) VALUES (1, 'writer', 'cycle began', '')"
        )
        connection.execute(
            "INSERT INTO cycles (id, agent, host, pid, started, boot, began_at) VALUES ('cycle-open', 'w', '', 1, 1, '', 1)"
        )
    connection.close()
    said = run("store", "prune", "--older-than", "30d").output
    assert said == "forgotten: 1 events, 0 cycles, 0 actions, 0 messages, 0 hosts, 1 output files\n"
    assert {file.stem for file in output.iterdir()} == {"young", "task-1-cycle-open"}
    assert "first" in run("task", "list").output


def test_how_old_must_be_said_and_only_a_person_prunes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Missing option '--older-than'" in refused("store", "prune")
    assert "'soon' is not a duration; write for example 90s" in refused(
        "store", "prune", "--older-than", "soon"
    )
    monkeypatch.setenv("STRAWBOSS_AGENT", "writer")
    assert refused("store", "prune", "--older-than", "30d") == "only a person prunes the task store"


def test_whatever_page_of_the_file_is_damaged_it_is_never_well(home: Path) -> None:
    for number in range(60):
        run("task", "add", f"task {number} " + "x" * 200)
    file = home / "state" / "store.sqlite"
    assert run("store", "check").return_value == 0
    whole = file.read_bytes()
    size = int.from_bytes(whole[16:18], "big")
    for start in range(0, len(whole), size):
        for left in home.glob("state/store.sqlite*"):
            left.unlink()
        file.write_bytes(whole[:start] + b"\xff" * size + whole[start + size :])
        ran = run("store", "check")
        assert ran.exception is not None or ran.return_value == 1, start // size
        assert "Traceback" not in ran.output
