"""Sessions that have launched subagents, as pi's folders tell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from runs.written import RUN, entry
from survey.home import Home

from strawboss.survey.sessions import find, name_of, recent_artifacts, session_folders


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_every_folder_pi_may_keep_sessions_in_is_looked_at(home: Home) -> None:
    agent = home.directory / ".pi" / "agent"
    (agent / "settings.json").write_text(json.dumps({"sessionDir": "/told/by/settings", "theme": 3}))
    told = session_folders({**home.environment, "PI_CODING_AGENT_SESSION_DIR": "/told"})
    assert list(told) == [home.sessions, Path("/told"), Path("/told/by/settings")]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"sessionDir": 3}'])
def test_settings_that_cannot_be_understood_tell_of_no_folder(home: Home, content: str) -> None:
    (home.directory / ".pi" / "agent" / "settings.json").write_text(content)
    assert list(session_folders(home.environment)) == [home.sessions]


def test_without_pi_there_are_none(tmp_path: Path) -> None:
    folders = list(session_folders({"PI_CODING_AGENT_DIR": str(tmp_path / "none")}))
    assert (folders, list(recent_artifacts([tmp_path / "none"], 0))) == ([], [])


def test_a_session_that_launched_nothing_has_no_artifacts(home: Home) -> None:
    home.session("boss", RUN)
    (home.sessions / "artifacts" / "empty").mkdir()
    assert [path.name for path in recent_artifacts([home.sessions], 0)] == ["boss"]


def test_what_is_no_session_file_is_not_found(home: Home) -> None:
    home.session("boss", RUN).write_bytes(b"hello\n")
    assert find(home.sessions / "artifacts" / "boss") is None


def test_its_name_is_the_last_it_was_given(home: Home) -> None:
    names = tuple(entry("session_info", name=name) for name in ("One", "Two"))
    assert name_of(str(home.session("boss", records=names))) == "Two"
    assert name_of(str(home.session("other"))) == ""
    assert name_of(str(home.directory / "none")) == ""
