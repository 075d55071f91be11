import stat

import pytest

from strawboss.heartbeat import gh
from strawboss.heartbeat.gh import Answer, ask_in, redacted

# Built here so that nothing that looks like a token stands in a file.
TOKEN = "ghp" + "_" + "a" * 36


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Puts a program called gh on PATH."""

    def program(script):
        path = tmp_path / "bin" / "gh"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{path.parent}:/usr/bin:/bin")

    return program


def test_gh_runs_in_the_given_directory_and_never_asks(program, tmp_path):
    program('echo "$PWD $GH_PROMPT_DISABLED $1"; echo trouble >&2; cat; exit 3')
    assert ask_in(tmp_path)(["api"]) == Answer(3, f"{tmp_path} 1 api\n", "trouble\n")


def test_without_gh_or_with_a_gh_that_hangs_there_is_no_answer(program, tmp_path, monkeypatch):
    program("sleep 60")
    monkeypatch.setattr(gh, "GH_TIMEOUT_SECONDS", 0.1)
    assert ask_in(tmp_path)(["api"]).code is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "not installed" in ask_in(tmp_path)(["api"]).error


@pytest.mark.parametrize(
    "text",
    [
        f"bad {TOKEN}",
        "github_pat_" + "B" * 40,
        "Authorization: Bearer " + "c" * 20,
        "Authorization: token " + "d" * 40,
    ],
)
def test_nothing_of_a_tokens_shape_is_repeated(text):
    said = redacted(text, {})
    assert "[redacted]" in said
    assert not any(char * 16 in said for char in "aBcd")


def test_nor_is_a_token_of_another_shape_that_the_environment_holds():
    said = redacted(
        "refused: hunter2 and\n hunter3", {"GH_TOKEN": "hunter2", "GITHUB_ENTERPRISE_TOKEN": " hunter3 "}
    )
    assert said == "refused: [redacted] and [redacted]"
