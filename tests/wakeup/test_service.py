from __future__ import annotations

import configparser
import shlex
from pathlib import Path

import click

from strawboss.cli.wakeup import heartbeat

UNIT = Path(__file__).resolve().parents[2] / "scripts" / "strawboss-health.service"


def test_the_systemd_unit_runs_the_resident_monitor_with_options_that_exist() -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(UNIT.read_text())
    program, command, *options = shlex.split(unit["Service"]["ExecStart"])
    assert (Path(program).name, command) == ("strawboss", "heartbeat")
    context = click.Context(heartbeat)
    heartbeat.parse_args(context, options)
    assert (context.params["check_all"], context.params["every"]) == (True, 60.0)
    assert unit["Service"]["KillMode"] == "process"
