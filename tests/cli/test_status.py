"""`strawboss status` as it is typed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from runs.written import RUN
from survey.home import TRACKED, Home

from strawboss.overview.report import Status


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def status(home: Home, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    foreign = ("PI_", "HERDR_", "STRAWBOSS_", "XDG_")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return subprocess.run(
        [sys.executable, "-m", "strawboss", "status", *words],
        env={**inherited, **home.environment, "STRAWBOSS_STATE_DIR": str(home.state), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_exit_code_0_when_nothing_needs_anybody(home: Home) -> None:
    home.looked("boss", home.session("boss", RUN), TRACKED)
    with home.lock("boss"):
        done = status(home)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("strawboss: nothing needs you\n")


def test_exit_code_1_and_the_command_when_something_does(home: Home) -> None:
    home.session("boss", RUN)
    done = status(home)
    assert (done.returncode, done.stderr) == (1, "")
    assert f"    cd {home.project} && pi --session boss\n" in done.stdout
    assert "\x1b" not in done.stdout


def test_json_is_one_object_of_the_schema(home: Home) -> None:
    home.session("boss", RUN)
    done = status(home, "--json")
    told = msgspec.json.decode(done.stdout, type=Status)
    assert (done.returncode, told.needs_you, [one.session for one in told.launchers]) == (1, 1, ["boss"])


def test_since_says_how_far_back(home: Home) -> None:
    home.session("boss", RUN, age=3 * 86_400)
    assert status(home, "--since", "2d").returncode == 0
    assert status(home, "--since", "4d").returncode == 1


@pytest.mark.parametrize("words", [("--since", "soon"), ("--nonsense",), ("more",)])
def test_bad_use_is_one_line_and_exit_code_2(home: Home, words: tuple[str, ...]) -> None:
    done = status(home, *words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_a_broken_config_is_one_line_and_exit_code_2(home: Home) -> None:
    config = home.directory / "config.yaml"
    config.write_text("intervall: 3\n")
    done = status(home, STRAWBOSS_CONFIG=str(config))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "interval" in done.stderr
