"""The `gh` program: asked without a shell, within a time limit, and never quoted with a token in it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

GH_TIMEOUT_SECONDS = 30.0
TOKEN_VARIABLES = ("GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
_TOKEN_SHAPED = re.compile(
    r"(?:gh[a-z]_|github_pat_)[A-Za-z0-9_]{4,}|(?i:(?<=bearer )|(?<=token ))[A-Za-z0-9._~+/-]{16,}"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What gh said; `code` is None when it could not be run or did not answer in time."""

    code: int | None
    output: str
    error: str


Ask = Callable[[list[str]], Answer]


def ask_in(directory: Path) -> Ask:
    """A way to run gh in a worktree, with that process's own environment."""

    def ask(arguments: list[str]) -> Answer:
        try:
            done = subprocess.run(
                ["gh", *arguments],
                cwd=directory,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=GH_TIMEOUT_SECONDS,
                env={**os.environ, "GH_PROMPT_DISABLED": "1", "NO_COLOR": "1"},
                stdin=subprocess.DEVNULL,
            )
        except FileNotFoundError:
            return Answer(None, "", "gh is not installed, or its directory is not there")
        except (OSError, subprocess.SubprocessError) as error:
            return Answer(None, "", f"gh gave no answer: {type(error).__name__}")
        return Answer(done.returncode, done.stdout, done.stderr)

    return ask


def redacted(text: str, environment: Mapping[str, str]) -> str:
    """One line without tokens: neither those of the environment nor anything of their shape."""
    for name in TOKEN_VARIABLES:
        if token := environment.get(name, "").strip():
            text = text.replace(token, "[redacted]")
    return " ".join(_TOKEN_SHAPED.sub("[redacted]", text).split())[:300]
