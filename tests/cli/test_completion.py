"""The scripts complete in a real shell, names with colons included."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest
from click.testing import CliRunner

from strawboss.cli.main import strawboss

SCRIPTS = str(Path(sys.executable).parent)


ENVIRONMENT = {**os.environ, "PATH": f"{SCRIPTS}:{os.environ['PATH']}", "PS1": "$ ", "TERM": "dumb"}
ASKED = [
    ("strawboss doc", "strawboss doctor "),
    ("strawboss agent:mo", "strawboss agent:monitor "),
    ("strawboss task li", "strawboss task list "),
    ("strawboss completion f", "strawboss completion fish "),
    ("strawboss agent:beat --wh", "strawboss agent:beat --while "),
]
# How each is started without anybody's settings, and then told.
INTERACTIVE = {
    "bash": (["--norc", "--noprofile", "-i"], 'bind "set enable-bracketed-paste off"'),
    "zsh": (["-f", "-i"], "autoload -Uz compinit; compinit -D -u"),
}


def installed(shell: str) -> str:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"no {shell}")
    return found


@pytest.fixture(params=list(INTERACTIVE))
def shell(request: pytest.FixtureRequest) -> Iterator[pexpect.spawn]:
    options, first = INTERACTIVE[request.param]
    shell = pexpect.spawn(installed(request.param), options, env=ENVIRONMENT, encoding="utf-8", timeout=60)
    shell.sendline(f'{first}; eval "$(strawboss completion {request.param})"; echo re"ady"')
    shell.expect("\nready")
    yield shell
    shell.close(force=True)


@pytest.mark.parametrize(("typed", "completed"), ASKED)
def test_a_shell_completes(shell: pexpect.spawn, typed: str, completed: str) -> None:
    shell.send(f"{typed}\t")
    shell.expect_exact(completed)


@pytest.mark.parametrize(("typed", "completed"), ASKED)
def test_fish_completes(typed: str, completed: str) -> None:
    told = f'strawboss completion fish | source; complete -C "{typed}"'
    done = subprocess.run(
        [installed("fish"), "-N", "-c", told], env=ENVIRONMENT, capture_output=True, text=True
    )
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == [completed.split()[-1]]


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
