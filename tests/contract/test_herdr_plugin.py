"""The plugin in herdr: linked, listed, opened and forgotten, with the stand-in and with a real herdr.

`STRAWBOSS_TEST_HERDR=<binary>` runs the same against that herdr.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from contract.test_herdr import new_herdr
from runs.written import RUN
from standins.herdr import HerdrError, HerdrServer
from survey.home import Home

from strawboss.herdr import installation
from strawboss.herdr.address import find_address
from strawboss.herdr.client import Herdr
from strawboss.herdr.command import HerdrCommand
from strawboss.herdr.installation import PLUGIN
from strawboss.recovery.commands import Outcome, Result
from strawboss.recovery.verdict import Unknown

pytestmark = pytest.mark.slow

PYTHON_WORDS = ["-P", "-m", "strawboss"]
PYTHON = """#!/bin/sh
echo "$@" >> "{calls}"
exec "{python}" "$@"
"""


@pytest.fixture(params=["stand-in", "real"])
def herdr(request: pytest.FixtureRequest) -> Iterator[HerdrServer]:
    """Not started."""
    with tempfile.TemporaryDirectory(prefix="sb-", dir="/tmp") as root:
        server = new_herdr(request.param, Path(root))
        try:
            yield server
        finally:
            server.__exit__()


@pytest.fixture
def directory(herdr: HerdrServer) -> Path:
    return herdr.root / "state" / "herdr-plugin"


@pytest.fixture
def python(herdr: HerdrServer) -> str:
    """A Python that writes down what it is started with, beside itself."""
    wrapper = herdr.root / "it's a python"
    wrapper.write_text(PYTHON.format(calls=herdr.root / "calls", python=sys.executable))
    wrapper.chmod(0o755)
    return str(wrapper)


@pytest.fixture
def installing(herdr: HerdrServer, directory: Path, python: str) -> HerdrServer:
    """Not started. Launchers would be looked at often."""
    herdr.env["STRAWBOSS_INTERVAL"] = "0.2"
    installation.install(herdr.env, directory, python)
    return herdr


@pytest.fixture
def installed(installing: HerdrServer) -> HerdrServer:
    return installing.start()


def client_of(herdr: HerdrServer) -> Herdr:
    address = find_address(herdr.env, "linux")
    assert not isinstance(address, Unknown)
    return Herdr(address)


def calls(herdr: HerdrServer) -> list[str]:
    file = herdr.root / "calls"
    return file.read_text().splitlines() if file.exists() else []


def is_shown(herdr: HerdrServer) -> Callable[[], bool]:
    return lambda: any(call.endswith("strawboss status --watch") for call in calls(herdr))


@pytest.mark.parametrize("running", [False, True])
def test_the_plugin_is_linked_once_and_forgotten_whether_herdr_runs_or_not(
    herdr: HerdrServer, directory: Path, python: str, running: bool
) -> None:
    if running:
        herdr.start()
    for _ in range(2):
        [done] = installation.install(herdr.env, directory, python)
        assert done.startswith(f"linked {directory} with herdr 0.8.")
    command = HerdrCommand(herdr.env)
    plugin = command.plugin(PLUGIN)
    assert plugin is not None
    assert (plugin.plugin_root, plugin.enabled) == (str(directory), True)
    assert installation.is_current(directory, python)
    assert len(installation.uninstall(herdr.env, directory)) == 2
    assert command.plugin(PLUGIN) is None
    assert not directory.exists()
    assert installation.uninstall(herdr.env, directory) == []


def test_herdr_has_nothing_to_say_against_the_plugin(installed: HerdrServer) -> None:
    [plugin] = installed.request("plugin.list")["plugins"]
    assert "warnings" not in plugin
    assert [one["command"][4:] for one in plugin["startup"]] == [["herdr-plugin", "announce"]]
    assert [action["id"] for action in plugin["actions"]] == ["status"]
    assert [(pane["id"], pane["placement"]) for pane in plugin["panes"]] == [("status", "popup")]


def test_the_pane_is_a_popup_that_shows_the_status_and_no_pane_of_anybody_s(installed: HerdrServer) -> None:
    pane = installed.workspace(installed.root / "project")
    assert client_of(installed).open_pane(PLUGIN, "status", "popup") == Result(Outcome.DONE)
    installed.wait_for(is_shown(installed))
    assert list(installed.panes()) == [pane]


def test_as_an_overlay_it_is_a_pane_without_an_agent(installed: HerdrServer) -> None:
    installed.workspace(installed.root / "project")
    assert client_of(installed).open_pane(PLUGIN, "status", "overlay") == Result(Outcome.DONE)
    installed.wait_for(is_shown(installed))


def test_a_pane_that_cannot_be_opened_is_refused_with_herdr_s_code(installed: HerdrServer) -> None:
    refused = client_of(installed).open_pane(PLUGIN, "status", "popup")  # there is no workspace
    assert refused == Result(Outcome.FAILED, "herdr refused: ui_busy")
    refused = client_of(installed).open_pane("nobody", "status", "popup")
    assert refused == Result(Outcome.FAILED, "herdr refused: plugin_not_found")


def test_the_action_opens_the_pane(installed: HerdrServer) -> None:
    installed.workspace(installed.root / "project")
    installed.request("plugin.action.invoke", action_id="strawboss.status")
    installed.wait_for(lambda: any(call.endswith("herdr-plugin open") for call in calls(installed)))
    installed.wait_for(is_shown(installed))


def test_the_action_takes_an_overlay_where_a_popup_is_open(installed: HerdrServer) -> None:
    installed.workspace(installed.root / "project")
    open_popup(installed)
    done = run(installed, "herdr-plugin", "open")
    assert (done.returncode, done.stderr) == (0, "")
    installed.wait_for(is_shown(installed))


def open_popup(herdr: HerdrServer) -> None:
    """One that stays."""
    other = herdr.root / "other"
    other.mkdir()
    (other / "herdr-plugin.toml").write_text(OTHER)
    herdr.request("plugin.link", path=str(other))
    herdr.request("plugin.pane.open", plugin_id="other", entrypoint="stays", focus=True)


OTHER = """
id = "other"
name = "Other"
version = "1.0.0"
min_herdr_version = "0.8.0"
platforms = ["linux", "macos"]
[[panes]]
id = "stays"
title = "It stays"
placement = "popup"
command = ["sleep", "1000"]
"""


def test_where_no_pane_can_be_opened_the_action_says_why_in_one_line(installed: HerdrServer) -> None:
    done = run(installed, "herdr-plugin", "open")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "strawboss herdr-plugin: herdr refused: plugin_pane_open_failed\n"


def run(herdr: HerdrServer, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "strawboss", *words]
    return subprocess.run(command, env=herdr.env, capture_output=True, text=True, check=False, timeout=60)


def test_a_notification_is_shown_and_another_one_at_once_is_not(installed: HerdrServer) -> None:
    client = client_of(installed)
    installed.wait_for(lambda: client.notify("5 runs recovered, 1 needs you") == "shown")
    assert client.notify("5 runs recovered, 1 needs you") == "busy"
    installed.stop()
    assert isinstance(client.notify("5 runs recovered"), Unknown)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("plugin.link", {"path": "/nonexistent"}),
        ("plugin.pane.open", {"plugin_id": PLUGIN, "entrypoint": "nothing"}),
        ("plugin.action.invoke", {"action_id": "strawboss.nothing"}),
        ("popup.close", {}),
        ("notification.show", {"title": ""}),
    ],
)
def test_refusals_have_the_codes_of_the_real_one(installed: HerdrServer, method: str, params: Any) -> None:
    with pytest.raises(HerdrError) as refused:
        installed.request(method, **params)
    assert refused.value.code == REFUSALS[method]


REFUSALS = {
    "plugin.link": "plugin_manifest_not_found",
    "plugin.pane.open": "plugin_pane_not_found",
    "plugin.action.invoke": "plugin_action_not_found",
    "popup.close": "popup_not_open",
    "notification.show": "invalid_params",
}


def test_after_a_start_it_is_said_once_what_needs_somebody_and_after_the_next_start_nothing(
    installing: HerdrServer,
) -> None:
    Home(installing.root / "home").session("boss", RUN)
    installing.start()
    assert said(installing) == ["1 needs you\n"]
    installing.restart()
    assert said(installing) == [""]


def test_after_a_start_with_nothing_to_say_nothing_is_said(installing: HerdrServer) -> None:
    assert said(installing.start()) == [""]


def said(herdr: HerdrServer) -> list[str]:
    """By the startup commands of this server, once they have ended well: what they showed to the user."""
    command = [*PYTHON_WORDS, "herdr-plugin", "announce"]
    herdr.wait_for(lambda: {log["status"] for log in logs(herdr)} == {"succeeded"}, what="its end")
    assert [log["command"][1:] for log in logs(herdr)] == [command]
    return [log["stdout"] for log in logs(herdr)]


def logs(herdr: HerdrServer) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = herdr.request("plugin.log.list", plugin_id=PLUGIN)["logs"]
    return listed


def test_a_startup_command_runs_after_each_start_and_outlives_the_server(herdr: HerdrServer) -> None:
    plugin = herdr.root / "starting"
    plugin.mkdir()
    (plugin / "herdr-plugin.toml").write_text(STARTING)
    herdr.command("plugin", "link", str(plugin))
    herdr.start()
    told = json.loads(herdr.wait_for(lambda: read_line(plugin / "told")))
    assert told == {"HERDR_ENV": "1", "HERDR_PLUGIN_EVENT": "startup", "HERDR_SOCKET_PATH": str(herdr.socket)}
    herdr.restart()
    herdr.wait_for(lambda: len((plugin / "told").read_text().splitlines()) == 2)
    assert len(herdr.leftovers()) == 2


def read_line(file: Path) -> str:
    return file.read_text() if file.exists() and file.read_text().endswith("\n") else ""


STARTING = f"""
id = "starting"
name = "Starting"
version = "1.0.0"
min_herdr_version = "0.8.0"
platforms = ["linux", "macos"]
[[startup]]
command = ["{sys.executable}", "-c", '''
import json, os, time
names = ("HERDR_ENV", "HERDR_PLUGIN_EVENT", "HERDR_SOCKET_PATH")
with open("told", "a") as file:
    file.write(json.dumps({{name: os.environ[name] for name in names}}) + chr(10))
time.sleep(1000)
''']
"""
