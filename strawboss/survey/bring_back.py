"""The command that opens a closed session again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from strawboss.pi.command import agent_directory
from strawboss.recovery.evidence import Launcher


def bring_back(launcher: Launcher, environment: Mapping[str, str]) -> str:
    """For a shell. By its id where pi finds the session by it from its directory, else by its file."""
    target = launcher.id if _is_found_by_id(launcher, environment) else launcher.file
    change = f"cd {shlex.quote(launcher.cwd)} && " if launcher.cwd else ""
    return f"{change}pi --session {shlex.quote(target)}"


def _is_found_by_id(launcher: Launcher, environment: Mapping[str, str]) -> bool:
    """In the folder that pi has for its directory, under the name pi gives it."""
    file, sessions = Path(launcher.file), agent_directory(environment) / "sessions"
    own = file.name.endswith(f"_{launcher.id}.jsonl") and bool(launcher.cwd)
    return own and file.parent.parent == sessions.resolve() and file.parent.name == slug(launcher.cwd)


def slug(cwd: str) -> str:
    """The folder in which pi keeps the sessions of a directory (docs/design.md#what-lies-where)."""
    return "--" + cwd.removeprefix("/").translate(str.maketrans("/\\:", "---")) + "--"
