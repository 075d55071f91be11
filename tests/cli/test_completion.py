"""The scripts complete in a real shell, names with colons included."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest
from click.testing import CliRunner

from strawboss.cli.main import strawboss

SCRIPTS = str(Path(sys.executable).parent)


@pytest.fixture
def bash() -> Iterator[pexpect.spawn]:
    environment = {**os.environ, "PATH": f"{SCRIPTS}:{os.environ['PATH']}", "PS1": "$ ", "TERM": "dumb"}
    shell = pexpect.spawn(
        "bash", ["--norc", "--noprofile", "-i"], env=environment, encoding="utf-8", timeout=60
    )
    shell.sendline('bind "set enable-bracketed-paste off"; eval "$(strawboss completion bash)"; echo re"ady"')
    shell.expect("\nready")
    yield shell
    shell.close(force=True)


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("strawboss doc", "strawboss doctor "),
        ("strawboss agent:mo", "strawboss agent:monitor "),
        ("strawboss task li", "strawboss task list "),
        ("strawboss completion f", "strawboss completion fish "),
        ("strawboss agent:beat --wh", "strawboss agent:beat --while "),
    ],
)
def test_bash_completes(bash: pexpect.spawn, typed: str, completed: str) -> None:
    bash.send(f"{typed}\t")
    bash.expect_exact(completed)


@pytest.mark.parametrize(
    ("shell", "words"), [("zsh", r"agent\:monitor"), ("fish", "agent:monitor"), ("bash", "agent:monitor")]
)
def test_every_shell_is_answered(shell: str, words: str) -> None:
    asked = {
        "_STRAWBOSS_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": "strawboss agent:mo",
        "COMP_CWORD": "agent:mo" if shell == "fish" else "1",
    }
    answered = CliRunner().invoke(strawboss, prog_name="strawboss", env=asked).output
    assert words in answered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_asks_strawboss_itself(shell: str) -> None:
    printed = CliRunner().invoke(strawboss, ["completion", shell], prog_name="strawboss").output
    assert f"_STRAWBOSS_COMPLETE={shell}_complete" in printed
