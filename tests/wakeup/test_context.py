from __future__ import annotations

import shlex
from pathlib import Path
from typing import Literal

import pytest
from click.testing import CliRunner
from sqlalchemy import Connection

from strawboss.cli.main import strawboss
from strawboss.system.json_files import read_object
from strawboss.wakeup import context as module
from strawboss.wakeup.agents import Agent
from strawboss.wakeup.context import ContextError, prompt, understand
from strawboss.wakeup.keep_alive import KeepAlive, record_file
from strawboss.wakeup.store import inbox, tasks
from strawboss.wakeup.store.database import Database
from strawboss.wakeup.store.tasks import NewTask, Status, Task

NOW = 1_700_000_000.0


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    (tmp_path / "ws").mkdir()
    return Agent(
        "writer",
        title="Author",
        workspace=str(tmp_path / "ws"),
        system_prompt="Be brief.",
        command=["cat"],
        role="words",
    )


def add(connection: Connection, title: str = "a task", **wishes: object) -> Task:
    return tasks.find(connection, tasks.add(connection, NewTask(title, "boss", **wishes), NOW))  # type: ignore[arg-type]


def test_everything_a_task_refers_to_is_loaded_and_is_in_the_prompt(light: Database, agent: Agent) -> None:
    (agent.directory / "notes.md").write_text("the notes " * 40)
    with light.write() as connection:
        top = add(connection, "the great plan", body="why all this")
        before = add(connection, "the part before")
        tasks.end(connection, before.id, Status.COMPLETE, "its result", by="coder", now=NOW)
        inbox.send(connection, "writer", "coder", "mind the comma", NOW)
        task = add(
            connection, "write it", body="two pages", parent=top.id, needs=(before.id,), files=("notes.md",)
        )
        known = understand(connection, task, agent)
    assert known.tokens == 100
    text = prompt(agent, task, known)
    for words in ("Be brief.", "writer, Author, words", "Scope: read-write", f"{task.id}: write it", "two pages",
                  "the great plan", "why all this", "its result", "from coder: mind the comma", "the notes the notes",
                  f"strawboss task block {task.id}"):  # fmt: skip
        assert words in text


def test_a_system_prompt_that_has_an_argument_of_its_own_is_not_in_the_prompt(
    light: Database, agent: Agent
) -> None:
    own = Agent(
        "writer", workspace=agent.workspace, system_prompt="Be brief.", command=["pi", "{system_prompt}"]
    )
    with light.write() as connection:
        task = add(connection)
        assert "Be brief." not in prompt(own, task, understand(connection, task, own))


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("missing.md", "No such file"),
        ("../outside.md", "outside the workspace"),
        ("/etc/passwd", "outside the workspace"),
        ("link.md", "outside the workspace"),
        (".", "is not a file"),
        ("pipe", "is not a file"),
        ("binary", "is not UTF-8 text"),
        ("big", "larger than 1 MiB"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line(
    light: Database, agent: Agent, name: str, complaint: str
) -> None:
    import os

    (agent.directory.parent / "outside.md").write_text("secret")
    (agent.directory / "link.md").symlink_to("../outside.md")
    (agent.directory / "binary").write_bytes(b"\xff\xfe\x00")
    (agent.directory / "big").write_bytes(b"x" * (module.LARGEST_FILE + 1))
    os.mkfifo(agent.directory / "pipe")
    with light.write() as connection:
        task = add(connection, files=(name,))
        with pytest.raises(ContextError, match=complaint) as caught:
            understand(connection, task, agent)
    assert "\n" not in str(caught.value)


def test_too_much_together_is_refused(light: Database, agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_CONTEXT", 150)
    (agent.directory / "a").write_text("x" * 100)
    with light.write() as connection:
        with pytest.raises(ContextError, match="together"):
            understand(connection, add(connection, files=("a", "a")), agent)
        assert understand(connection, add(connection, files=("a",)), agent).tokens == 25


@pytest.mark.parametrize(
    ("words", "loaded"),
    [
        ("see docs/plan.md, please", ["docs/plan.md"]),
        ("(docs/plan.md) and `notes.md`: both.", ["docs/plan.md", "notes.md"]),
        ("It is all in notes.md.", ["notes.md"]),
        ("run Makefile; then notes.md; then Makefile", ["Makefile", "notes.md"]),
        ("Résumé.md", ["Résumé.md"]),
        ("nothing here is missing.md", []),
        ("../outside.md", []),
        ("docs/../notes.md", []),
        ("./notes.md", []),
        ("/notes.md", []),
        ("~/notes.md", []),
        ("https://example.org/notes.md", []),
        ("link.md", []),  # leads out
        (".secret", []),
        ("docs/.secret", []),
        ("docs", []),
        ("docs/*.md", []),
        ("binary big pipe", []),
        ("x" * 5000, []),
    ],
)
def test_files_of_the_workspace_that_a_task_names_are_loaded_and_other_words_are_words(
    light: Database, agent: Agent, words: str, loaded: list[str]
) -> None:
    import os

    (agent.directory.parent / "outside.md").write_text("secret")
    (agent.directory / "docs").mkdir()
    for name in ("docs/plan.md", "notes.md", "Makefile", "Résumé.md", ".secret", "docs/.secret"):
        (agent.directory / name).write_text(f"this is {name}")
    (agent.directory / "link.md").symlink_to("../outside.md")
    (agent.directory / "binary").write_bytes(b"\xff\xfe\x00")
    (agent.directory / "big").write_bytes(b"x" * (module.LARGEST_FILE + 1))
    os.mkfifo(agent.directory / "pipe")
    with light.write() as connection:
        known = understand(connection, add(connection, body=words), agent)
    assert known.files == tuple((name, f"this is {name}") for name in loaded)


def test_a_file_that_is_named_twice_is_loaded_once_and_only_as_far_as_there_is_room(
    light: Database, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LARGEST_CONTEXT", 250)
    for name in ("one.md", "two.md", "three.md"):
        (agent.directory / name).write_text("x" * 100)
    with light.write() as connection:
        task = add(connection, title="one.md two.md three.md", files=("two.md",))
        assert [name for name, _ in understand(connection, task, agent).files] == ["two.md", "one.md"]


@pytest.mark.parametrize("scope", ["read-only", "read-write"])
def test_the_prompt_says_how_the_agent_beats_itself_and_that_is_how(
    light: Database, home: Path, scope: Literal["read-only", "read-write"]
) -> None:
    (home / "my desk").mkdir()
    agent = Agent("reader", workspace=str(home / "my desk"), scope=scope, command=["cat"])
    KeepAlive(agent, "cycle-1", "strawboss", light, 1.0, 60.0).record("implementing", "7. Execute")
    with light.write() as connection:
        task = add(connection)
        said = prompt(agent, task, understand(connection, task, agent))
    [line] = [line for line in said.splitlines() if "agent:beat" in line]
    words = [word.replace("TEXT", "thinking hard") for word in shlex.split(line)[1:]]
    assert CliRunner().invoke(strawboss, words, standalone_mode=False).exception is None
    record = read_object(record_file(agent))
    assert isinstance(record, dict)
    assert (record["last_message"], record["parent_id"]) == ("thinking hard", "strawboss")
    assert (home / "my desk" / ".deft-scratch").exists() is (scope == "read-write")
