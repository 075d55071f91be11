from __future__ import annotations

import configparser
import shlex
from pathlib import Path

import click
import pytest

from strawboss.cli.wakeup import heartbeat

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


@pytest.mark.parametrize(
    ("name", "wanted", "kill_mode"),
    [
        ("strawboss-health", {"check_all": True, "every": 60.0}, "process"),
        ("strawboss-agent@", {"name": "%I", "every": 600.0}, "mixed"),
    ],
)
def test_the_systemd_units_run_monitor_and_agent_with_options_that_exist(
    name: str, wanted: dict[str, object], kill_mode: str
) -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string((SCRIPTS / f"{name}.service").read_text())
    program, command, *options = shlex.split(unit["Service"]["ExecStart"])
    assert (Path(program).name, command) == ("strawboss", "heartbeat")
    context = click.Context(heartbeat)
    heartbeat.parse_args(context, options)
    assert {option: context.params[option] for option in wanted} == wanted
    assert unit["Service"]["KillMode"] == kill_mode
