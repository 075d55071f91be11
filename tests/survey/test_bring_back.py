"""The command that opens a closed session again."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from strawboss.recovery.evidence import Launcher
from strawboss.survey.bring_back import bring_back, in_a_terminal, slug

ENVIRONMENT = {"PI_CODING_AGENT_DIR": "/home/me/.pi/agent"}
FILE = "/home/me/.pi/agent/sessions/--w-a b--/2026_boss.jsonl"
LAUNCHER = Launcher("boss", "", FILE, "/w/a b")


def test_it_is_by_id_where_pi_keeps_it_for_its_directory() -> None:
    assert bring_back(LAUNCHER, ENVIRONMENT) == "cd '/w/a b' && pi --session boss"


@pytest.mark.parametrize(
    "other",
    [
        replace(LAUNCHER, file="/elsewhere/2026_boss.jsonl"),
        replace(LAUNCHER, file=FILE.replace("2026_boss", "mine")),
        replace(LAUNCHER, cwd="/w"),
        replace(LAUNCHER, cwd=""),
    ],
)
def test_it_is_by_file_where_pi_would_not_find_the_id(other: Launcher) -> None:
    words = shlex.split(bring_back(other, ENVIRONMENT))
    assert words[-3:] == ["pi", "--session", other.file]
    assert words[:-3] == (["cd", other.cwd, "&&"] if other.cwd else [])


def test_in_a_terminal_the_user_s_shell_runs_it_and_is_there_afterwards() -> None:
    shell = "/opt/my shells/fish"
    command = in_a_terminal(LAUNCHER, ENVIRONMENT | {"SHELL": shell})
    assert command == [shell, "-ic", "pi --session boss; exec '/opt/my shells/fish'"]
    assert in_a_terminal(LAUNCHER, ENVIRONMENT)[0] == "/bin/sh"


def test_in_a_terminal_of_windows_its_command_processor_does() -> None:
    command = in_a_terminal(replace(LAUNCHER, platform="win32", cwd="C:\\w"), ENVIRONMENT)
    assert command == ["cmd.exe", "/k", "pi", "--session", FILE]


def test_names_of_folders_are_those_of_pi() -> None:
    assert slug("/w/a b:c.d") == "--w-a b-c.d--"
    assert Path(FILE).parent.name == slug(LAUNCHER.cwd)
