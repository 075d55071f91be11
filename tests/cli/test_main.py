"""Every command is there, and every complaint is one line and exit 2."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import msgspec
import pexpect
import pytest

from strawboss.cli.main import COMMANDS, main, strawboss
from strawboss.cli.params import DURATION
from strawboss.heartbeat.replies import Complaint


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_can_be_loaded_and_says_what_it_is_for(name: str) -> None:
    command = strawboss.get_command(click.Context(strawboss), name)
    assert command is not None
    assert command.help


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["no-such-command"], "No such command 'no-such-command'; `strawboss --help` tells what to write"),
        (["status", "--x"], "No such option '--x'; `strawboss status --help` tells what to write"),
        (["status", "--sinc", "1d"], "'--since'?"),
        (["doctr"], "Did you mean 'doctor'?"),
        (["agent:monitr"], "'agent:monitor'"),
        (["task", "ad"], "Did you mean 'add'?"),
        (["explain"], "Missing argument 'RUN'; `strawboss explain --help` tells what to write"),
        (["replay", "/no/such/moment"], "no such directory"),
        (["replay", "--platform", "beos", "x"], "beos"),
        (["heartbeat", "--timeout", "soon"], "not a duration"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    out, err = capsys.readouterr()
    assert (ended.value.code, out) == (2, "")
    assert err.startswith("strawboss")
    assert err.count("\n") == 1
    assert says in err


@pytest.mark.parametrize("name", ["", *sorted(COMMANDS), "no-such-command", "occupancy no-such", "task add"])
@pytest.mark.parametrize("flags", [["--json", "--no-such"], ["--no-such", "--json"], ["--json", "\x1b[31m"]])
def test_under_json_bad_input_is_one_document_on_stdout_as_well(
    name: str, flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*name.split(), *flags])
    out, err = capsys.readouterr()
    said = msgspec.json.decode(out, type=Complaint)
    assert (ended.value.code, said.ok, said.exit_code) == (2, False, 2)
    assert err.split(": ", 1)[1] == f"{said.error}\n"
    assert err.strip().isprintable()


def test_a_flag_behind_two_dashes_is_an_argument_and_no_flag(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["explain", "--", "--json"])
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("command", ["doctor", "status", "budget"])
@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_no_color_takes_the_colour_out_of_a_terminal(
    command: str, no_color: str, coloured: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("STRAWBOSS_STATE_DIR", str(tmp_path))
    shown = pexpect.run(f"{sys.executable} -m strawboss {command}", timeout=60)
    assert len(shown) > 50
    assert (b"\x1b[" in shown) == coloured


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("3m", 180), ("1.5h", 5400), ("250ms", 0.25), ("7", 7)]
)
def test_a_duration_is_a_number_and_a_unit(text: str, seconds: float) -> None:
    assert DURATION.convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "0s", "-3s", "3 days", "nan", "inf", "1e3s"])
def test_anything_else_is_no_duration(text: str) -> None:
    with pytest.raises(click.BadParameter, match="write for example"):
        DURATION.convert(text, None, None)


def test_the_process_inside_pi_does_not_pay_for_the_rest_of_the_house() -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, strawboss.cli.run; print(*sys.modules)"],
        capture_output=True,
        text=True,
    ).stdout.split()
    assert "strawboss.resident.process" in loaded
    costly = {
        "click",
        "rich",
        "sqlalchemy",
        "yaml",
        "structlog",
        "filelock",
        "platformdirs",
        "psutil",
        "hashlib",
    }
    assert costly & set(loaded) == set()
