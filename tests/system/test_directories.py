"""Our own files lie where the environment says, else where the platform keeps such files."""

from __future__ import annotations

from pathlib import Path

import platformdirs
import pytest

from strawboss.system import directories


@pytest.mark.parametrize(
    ("variable", "place"),
    [
        ("STRAWBOSS_STATE_DIR", directories.state_directory),
        ("STRAWBOSS_CONFIG", directories.config_file),
        ("STRAWBOSS_CONFIG_DIR", directories.config_directory),
    ],
)
def test_the_environment_comes_first(variable: str, place: object, monkeypatch: pytest.MonkeyPatch) -> None:
    assert callable(place)
    monkeypatch.setenv(variable, "/somewhere/else")
    assert place() == Path("/somewhere/else")
    monkeypatch.setenv(variable, "  ")
    assert place() != Path("  ")


def test_the_config_file_lies_in_the_config_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STRAWBOSS_CONFIG", raising=False)
    monkeypatch.setenv("STRAWBOSS_CONFIG_DIR", "/c")
    assert directories.config_file() == Path("/c/config.yaml")


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "", "..", ".", "x" * 200, "ünï", "con\n"])
def test_a_session_id_that_is_no_file_name_becomes_one(name: str) -> None:
    assert len(directories.file_name(name)) == 64
    assert directories.file_name(name).isalnum()


def test_an_ordinary_session_id_names_its_files() -> None:
    assert (
        directories.file_name("01a23392-c4f6-76a6-87c2-4d480b13177c")
        == "01a23392-c4f6-76a6-87c2-4d480b13177c"
    )


@pytest.mark.parametrize("home", [None, "", "  ", "/xdg"])
def test_without_the_environment_they_lie_where_the_platform_says(
    home: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("STRAWBOSS_STATE_DIR", "STRAWBOSS_CONFIG_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
        if home is not None and name.startswith("XDG"):
            monkeypatch.setenv(name, home)
    assert directories.state_directory() == Path(platformdirs.user_state_dir("strawboss", appauthor=False))
    assert directories.config_directory() == Path(platformdirs.user_config_dir("strawboss", appauthor=False))
