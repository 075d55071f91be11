"""`strawboss status --watch` in a real terminal."""

from __future__ import annotations

import base64
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest
from cli.test_status import status
from contract.test_herdr import at_prompt, new_herdr, tell_session
from e2e.terminal import Terminal
from runs.written import RUN
from standins.herdr import HerdrServer
from standins.short_directory import short_directory
from survey.home import Home

from strawboss.overview.screen import KEYS, KEYS_OF_EXPLANATION

pytestmark = pytest.mark.slow

UP, DOWN, ENTER, ESCAPE = (
    "\x1bOA",
    "\x1bOB",
    "\r",
    "\x1b",
)  # as an xterm sends them to a program on its whole screen
FOREIGN = ("PI_", "HERDR_", "STRAWBOSS_", "XDG_", "NO_COLOR", "TERM", "LINES", "COLUMNS")
HOSTILE = "\x1b]0;owned\x07\x1b[5m\nbeta"
Holds = Callable[[Sequence[str]], bool]


@pytest.fixture
def home() -> Iterator[Home]:
    """With a short path, so that commands with it fit a line."""
    with short_directory() as directory:
        yield Home(directory)


@contextmanager
def watching(home: Home, columns: int = 80, rows: int = 24, **environment: str) -> Iterator[Terminal]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    own = {"STRAWBOSS_STATE_DIR": str(home.state), "STRAWBOSS_INTERVAL": "1", "TERM": "xterm-256color"}
    command = [sys.executable, "-m", "strawboss", "status", "--watch"]
    with Terminal(
        command, {**inherited, **home.environment, **own, **environment}, columns, rows
    ) as terminal:
        yield terminal


def shows(*words: str) -> Holds:
    return lambda lines: all(any(word in line for line in lines) for word in words)


def explains(run: str, other: str) -> Holds:
    return lambda lines: shows(KEYS_OF_EXPLANATION, run)(lines) and not shows(other)(lines)


def quit_with(terminal: Terminal, key: str = "q") -> int:
    terminal.type(key)
    return terminal.wait()


def test_it_shows_the_page_and_the_keys_and_q_ends_it_with_the_code_of_status(home: Home) -> None:
    home.session("boss", RUN)
    with watching(home) as terminal:
        lines = terminal.until(shows("1 needs you", KEYS, "--session boss"))
        assert f"    cd {home.project} && pi --session boss" in lines
        assert max(map(len, lines)) <= 80
        assert quit_with(terminal) == 1


def test_where_nothing_needs_anybody_it_ends_with_0(home: Home) -> None:
    with watching(home) as terminal:
        terminal.until(shows("no session of yours has launched subagents"))
        assert quit_with(terminal) == 0


def test_ctrl_c_ends_it_as_an_interrupt(home: Home) -> None:
    with watching(home) as terminal:
        terminal.until(shows("no session of yours has launched subagents"))
        assert quit_with(terminal, "\x03") == 130


def test_what_changes_is_drawn_in_place_and_what_does_not_is_not_sent_again(home: Home) -> None:
    home.session("boss", RUN)
    with watching(home) as terminal:
        terminal.until(shows("1 needs you", KEYS, "--session boss"))
        before = len(terminal.written)
        home.session("other", "b2b2b2b2")
        terminal.until(shows("2 need you", "--session other"))
        assert terminal.written.count(b"\x1b[2J") <= 1  # never cleared again, so that nothing flickers
        assert b"boss" not in terminal.written[before:]
        quit_with(terminal)


def test_a_terminal_that_changes_its_size_is_drawn_anew_in_its_width(home: Home) -> None:
    home.session("boss", RUN)
    with watching(home) as terminal:
        terminal.until(shows("1 needs you", KEYS, "--session boss"))
        terminal.resize(40, 12)
        lines = terminal.until(lambda lines: len(lines) == 12 and lines[-1].startswith(KEYS[:30]))
        assert max(map(len, lines)) <= 40
        terminal.resize(120, 40)
        drawn = shows("--session boss")
        lines = terminal.until(lambda lines: len(lines) == 40 and lines[-1] == KEYS and drawn(lines))
        assert f"    cd {home.project} && pi --session boss" in lines
        quit_with(terminal)


def test_enter_explains_what_the_arrows_chose_and_escape_goes_back(home: Home) -> None:
    home.session("boss", RUN, "b2b2b2b2")
    with watching(home) as terminal:
        terminal.until(shows("2 need you"))
        terminal.type(DOWN + ENTER)
        lines = terminal.until(explains("b2b2b2b2", RUN))
        assert any("its launcher is closed" in line for line in lines)
        terminal.type(ESCAPE)
        terminal.until(shows("2 need you", KEYS))
        terminal.type(UP + ENTER)
        terminal.until(explains(RUN, "b2b2b2b2"))
        quit_with(terminal)


def test_without_anything_to_choose_the_keys_say_so(home: Home) -> None:
    with watching(home) as terminal:
        terminal.until(shows("no session of yours has launched subagents"))
        for key in ("f", "o", "c", ENTER):
            terminal.type("x" + key)
            terminal.until(shows("there is nothing to choose"))
        quit_with(terminal)


def test_c_copies_the_whole_command_through_the_terminal(home: Home) -> None:
    home.session("boss", RUN)
    with watching(home) as terminal:
        terminal.until(shows("1 needs you"))
        terminal.type("c")
        terminal.until(shows("copied"))
        (copied,) = re.findall(rb"\x1b\]52;c;([^\x07]*)\x07", terminal.written)
        assert base64.b64decode(copied).decode() == f"cd {home.project} && pi --session boss"
        quit_with(terminal)


# -- in herdr --------------------------------------------------------------------------------------------------


@pytest.fixture
def herdr() -> Iterator[HerdrServer]:
    with short_directory() as root, new_herdr("stand-in", root) as server:
        at_prompt(server, server.workspace(server.root / "project"))
        yield server


@contextmanager
def watching_in(herdr: HerdrServer, home: Home, **environment: str) -> Iterator[Terminal]:
    told = {"HERDR_SOCKET_PATH": str(herdr.socket), "SHELL": "/bin/bash"}
    with watching(home, **told, **environment) as terminal:
        yield terminal


def test_o_opens_a_closed_launcher_in_a_new_tab_once_and_f_shows_it(home: Home, herdr: HerdrServer) -> None:
    file = home.session("boss", RUN)
    (first,) = herdr.panes()
    with watching_in(herdr, home) as terminal:
        terminal.until(shows("1 needs you"))
        terminal.type("f")
        terminal.until(shows("it is in no pane of this herdr"))
        terminal.type("o")
        terminal.until(shows("it is opened in a new tab"))
        terminal.type("o")
        terminal.until(shows("it is being opened"))
        (opened,) = set(herdr.panes()) - {first}
        herdr.wait_for(lambda: herdr.pane(opened).get("agent") == "pi", what="herdr to see pi")
        tell_session(herdr, opened, str(file))
        herdr.request("pane.focus", pane_id=first)
        terminal.type("f")
        terminal.until(shows("its pane is in front"))
        assert herdr.pane(opened)["focused"]
        quit_with(terminal)


def test_a_pane_of_the_plugin_ends_so_that_what_it_lies_over_is_seen(home: Home, herdr: HerdrServer) -> None:
    home.session("boss", RUN)
    with watching_in(herdr, home, HERDR_PLUGIN_ENTRYPOINT_ID="status") as terminal:
        terminal.until(shows("1 needs you"))
        terminal.type("f")
        terminal.until(shows("it is in no pane of this herdr"))
        terminal.type("o")
        assert terminal.wait() == 1
    assert len(herdr.panes()) == 2


def test_names_of_other_programs_do_nothing_to_the_terminal(home: Home) -> None:
    home.session("boss", RUN)
    home.project = home.directory / HOSTILE
    home.session("evil", "b2b2b2b2")
    with watching(home) as terminal:
        terminal.until(shows("2 need you"))
        terminal.type("c" + DOWN + "c")
        terminal.until(shows("copied", "owned"))
        quit_with(terminal)
        for sequence in (b"\x1b]0;", b"owned\x07", b"\x1b[5m", b"\nbeta"):
            assert sequence not in terminal.written


def test_without_colour_only_the_choice_is_marked(home: Home) -> None:
    home.session("boss", RUN)
    with watching(home, NO_COLOR="1") as terminal:
        terminal.until(shows("1 needs you", KEYS))
        quit_with(terminal)
        assert not re.search(rb"\x1b\[[0-9;]*3[0-7][;m]", terminal.written)
        assert re.search(rb"\x1b\[(0;)?7m", terminal.written)


def test_with_colour_what_needs_somebody_is_red(home: Home) -> None:
    home.session("boss", RUN)
    with watching(home) as terminal:
        terminal.until(shows("1 needs you", KEYS))
        quit_with(terminal)
        assert re.search(rb"\x1b\[[0-9;]*31[;m]", terminal.written)


@pytest.mark.parametrize(
    ("words", "what"),
    [(("--watch",), "needs a terminal"), (("--watch", "--json"), "choose one")],
)
def test_where_nobody_can_watch_it_says_so_in_one_line(home: Home, words: tuple[str, ...], what: str) -> None:
    done = status(home, *words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert what in done.stderr


def test_a_terminal_that_cannot_be_drawn_on_is_one_line(home: Home) -> None:
    with watching(home, TERM="no-such-terminal") as terminal:
        assert terminal.wait() == 2
        assert len(terminal.lines) <= 2
        assert "cannot be drawn on" in terminal.lines[0]
