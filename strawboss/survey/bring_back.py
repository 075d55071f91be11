"""The command that opens a closed session again, for a shell and for a terminal of its own."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from strawboss.pi.command import agent_directory
from strawboss.recovery.evidence import Launcher


def bring_back(launcher: Launcher, environment: Mapping[str, str]) -> str:
    """For a shell. By its id where pi finds the session by it from its directory, else by its file."""
    change = f"cd {shlex.quote(launcher.cwd)} && " if launcher.cwd else ""
    return change + shlex.join(_words(launcher, environment))


def in_a_terminal(launcher: Launcher, environment: Mapping[str, str]) -> list[str]:
    """As argv, for a terminal that is in its directory already. Through the user's shell, which knows where pi is and
    is there when pi has ended, as after a restart of herdr."""
    words = _words(launcher, environment)
    if launcher.platform == "win32":
        return ["cmd.exe", "/k", *words]
    shell = environment.get("SHELL") or "/bin/sh"
    return [shell, "-ic", f"{shlex.join(words)}; exec {shlex.quote(shell)}"]


def _words(launcher: Launcher, environment: Mapping[str, str]) -> list[str]:
    return ["pi", "--session", launcher.id if _is_found_by_id(launcher, environment) else launcher.file]


def _is_found_by_id(launcher: Launcher, environment: Mapping[str, str]) -> bool:
    """In the folder that pi has for its directory, under the name pi gives it."""
    file, sessions = Path(launcher.file), agent_directory(environment) / "sessions"
    own = file.name.endswith(f"_{launcher.id}.jsonl") and bool(launcher.cwd)
    return own and file.parent.parent == sessions.resolve() and file.parent.name == slug(launcher.cwd)


def slug(cwd: str) -> str:
    """The folder in which pi keeps the sessions of a directory (docs/design.md#what-lies-where)."""
    return "--" + cwd.removeprefix("/").translate(str.maketrans("/\\:", "---")) + "--"
