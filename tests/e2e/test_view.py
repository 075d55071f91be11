"""`/strawboss` in a real pi's terminal: runs to choose from, explained and completed; a command where one is due."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from e2e.pi_install import pi_binary, pi_environment
from e2e.terminal import Terminal
from e2e.test_extension import wait_until
from runs.written import RUN, chain, key, message
from standins.short_directory import short_directory
from survey.home import Home

from strawboss.pi.installation import EXTENSION

DOWN, ENTER, ESCAPE = "\x1b[B", "\r", "\x1b"
OTHER = "b2b2b2b2"


@pytest.fixture
def home() -> Iterator[Home]:
    with short_directory() as directory:
        yield Home(directory)


@contextmanager
def opened(home: Home, session: Path) -> Iterator[Terminal]:
    """pi on that session, as in a pane of herdr; herdr itself is away. It is idle: strawboss has looked."""
    own = {"HERDR_ENV": "1", "STRAWBOSS_PYTHON": sys.executable, "STRAWBOSS_INTERVAL": "1"}
    environment = pi_environment(home.directory, "http://127.0.0.1:9/v1", extensions=[EXTENSION])
    told = {**environment, **home.environment, **own, "STRAWBOSS_STATE_DIR": str(home.state)}
    command = [str(pi_binary()), "--session", str(session)]
    with Terminal(command, told, columns=120, rows=50, directory=home.project) as terminal:
        shows(terminal, "hello")
        wait_until(lambda: '"looked"' in "".join(file.read_text() for file in home.state.glob("logs/*")))
        yield terminal


def shows(terminal: Terminal, *words: str) -> str:
    lines = terminal.until(lambda lines: all(word in "\n".join(lines) for word in words))
    return "\n".join(lines)


def test_runs_are_chosen_in_pi_s_own_list_explained_and_completed(home: Home) -> None:
    with opened(home, home.session("boss", RUN, OTHER)) as terminal:
        terminal.type("/strawboss" + ENTER)
        shows(terminal, "strawboss: 2 runs, none stranded", f"→ {RUN}", OTHER, "navigate")
        terminal.type(DOWN + ENTER)
        assert OTHER in shows(terminal, "→ Back")
        terminal.type(ENTER)
        shows(terminal, f"→ {RUN}")
        terminal.type(ESCAPE)
        terminal.until(lambda lines: "navigate" not in "\n".join(lines))
        terminal.type(f"/strawboss {OTHER[:4]}")
        shows(terminal, f"→ {OTHER}")


def test_what_a_person_must_see_to_stands_first_and_has_its_command_with_it(home: Home) -> None:
    said = message("user", content="hello")
    given_up = chain(said, key(gaveUp=RUN, why="its pane could not be closed"))
    with opened(home, home.session("boss", RUN, records=given_up)) as terminal:
        terminal.type("/strawboss" + ENTER)
        shows(terminal, f"→ {RUN} of project was given up: its pane could not be closed")
        terminal.type(ENTER)
        shows(terminal, "To see to it: subagent_resume", "→ Put it into the editor", "Back")
        terminal.type(ENTER)
        shown = shows(terminal, "it is in the editor")
        assert re.search(r"─\n ?subagent_resume \{", shown)
