"""What the `herdr` command says is read, or told in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from strawboss.herdr.command import HerdrCommand, HerdrCommandError, Plugin


def herdr(directory: Path, script: str) -> HerdrCommand:
    command = directory / "herdr"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)
    return HerdrCommand({"PATH": f"{directory}:/usr/bin:/bin"})


@pytest.mark.parametrize(
    ("said", "version"), [("herdr 0.8.2", (0, 8, 2)), ("herdr 0.9.0-preview.7", (0, 9, 0))]
)
def test_the_version_is_three_numbers(tmp_path: Path, said: str, version: tuple[int, ...]) -> None:
    assert herdr(tmp_path, f"echo '{said}'").version() == version


@pytest.mark.parametrize("said", ["", "herdr", "herdr 1.0", "something else"])
def test_what_is_no_version_is_told(tmp_path: Path, said: str) -> None:
    with pytest.raises(HerdrCommandError, match="which is no version"):
        herdr(tmp_path, f"echo '{said}'").version()


def test_without_a_herdr_on_the_path_there_is_no_command(tmp_path: Path) -> None:
    with pytest.raises(HerdrCommandError, match="herdr is not on PATH"):
        HerdrCommand({"PATH": str(tmp_path)})


def test_inside_herdr_it_is_the_herdr_one_is_in(tmp_path: Path) -> None:
    assert HerdrCommand({"HERDR_BIN_PATH": "/opt/herdr", "PATH": str(tmp_path)}).path == "/opt/herdr"


def test_a_herdr_that_is_gone_is_told() -> None:
    with pytest.raises(HerdrCommandError, match="/nonexistent/herdr did not run"):
        HerdrCommand({"HERDR_BIN_PATH": "/nonexistent/herdr"}).version()


def test_a_refusal_is_one_line_without_what_a_terminal_would_obey(tmp_path: Path) -> None:
    with pytest.raises(HerdrCommandError) as refused:
        herdr(tmp_path, r"printf 'no\033[2J\nway' >&2; exit 1").link(Path("/p"))
    assert str(refused.value).startswith("`herdr plugin link /p` failed: no")
    assert str(refused.value).isprintable()


LISTED = """{"id":"cli:plugin","result":{"type":"plugin_list","plugins":[
{"plugin_id":"other","plugin_root":"/o","version":"1","enabled":true},
{"plugin_id":"strawboss","plugin_root":"/p","version":"2","enabled":false,"new":1}]}}"""


def test_a_plugin_is_found_by_its_id(tmp_path: Path) -> None:
    command = herdr(tmp_path, f"cat <<'END'\n{LISTED}\nEND")
    assert command.plugin("strawboss") == Plugin("strawboss", "/p", "2", enabled=False)
    assert command.plugin("nobody") is None


@pytest.mark.parametrize("said", ["", "No plugins installed.", '{"result": {"type": "plugin_list"}}'])
def test_a_list_that_cannot_be_read_is_told_and_not_empty(tmp_path: Path, said: str) -> None:
    with pytest.raises(HerdrCommandError, match="herdr's list of plugins cannot be read"):
        herdr(tmp_path, f"echo '{said}'").plugin("strawboss")
