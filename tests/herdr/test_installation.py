"""The plugin is written for one Python and linked where herdr can have it. With herdr itself: tests/contract."""

from __future__ import annotations

import stat
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from strawboss.herdr import installation
from strawboss.herdr.command import HerdrCommandError

PYTHON = '/opt/it\'s "a" \\python'


def environment(directory: Path, script: str) -> dict[str, str]:
    command = directory / "herdr"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)
    return {"HERDR_BIN_PATH": str(command), "PATH": "/usr/bin:/bin"}


def test_every_command_of_the_plugin_starts_this_python_whatever_its_name() -> None:
    manifest = tomllib.loads(installation.manifest(PYTHON))
    commands = [one["command"] for kind in ("startup", "actions", "panes") for one in manifest[kind]]
    assert all(command[:4] == [PYTHON, "-P", "-m", "strawboss"] for command in commands)
    assert manifest["version"] == metadata.version("strawboss")
    assert manifest["min_herdr_version"] == installation.dotted(installation.OLDEST)
    assert manifest["id"] == installation.PLUGIN


@pytest.mark.parametrize("version", ["0.7.5", "0.6.9"])
def test_a_herdr_that_is_too_old_is_left_as_it_is(tmp_path: Path, version: str) -> None:
    old = environment(tmp_path, f'[ "$1" = --version ] && echo "herdr {version}" || exit 1')
    [line] = installation.install(old, tmp_path / "plugin", PYTHON)
    assert line == f"herdr {version} is older than 0.8.0, so no plugin was linked there"
    assert not (tmp_path / "plugin").exists()
    assert installation.uninstall(old, tmp_path / "plugin") == []


def test_without_herdr_there_is_nothing_to_link_and_nothing_to_undo(tmp_path: Path) -> None:
    nowhere = {"PATH": str(tmp_path)}
    assert installation.install(nowhere, tmp_path / "plugin", PYTHON) == [
        "herdr is not on PATH, so no plugin was linked there"
    ]
    assert installation.uninstall(nowhere, tmp_path / "plugin") == []


def test_the_plugin_is_private_and_current_until_the_python_is_another(tmp_path: Path) -> None:
    herdr = environment(tmp_path, "echo herdr 0.8.2")
    directory = tmp_path / "state" / "plugin"
    installation.install(herdr, directory, PYTHON)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((directory / installation.MANIFEST).stat().st_mode) == 0o600
    assert installation.is_current(directory, PYTHON)
    assert not installation.is_current(directory, "/another/python")
    assert not installation.is_current(tmp_path, PYTHON)


def test_a_plugin_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HerdrCommandError, match="cannot be written"):
        installation.install(environment(tmp_path, "echo herdr 0.8.2"), tmp_path / "file" / "p", PYTHON)


def test_a_link_that_herdr_refuses_is_told(tmp_path: Path) -> None:
    refusing = environment(tmp_path, '[ "$1" = --version ] && echo "herdr 0.8.2" || exit 1')
    with pytest.raises(HerdrCommandError, match=r"`herdr plugin link .+ failed"):
        installation.install(refusing, tmp_path / "plugin", PYTHON)
