"""Where herdr listens, computed from the environment as herdr computes it.

For herdr itself a command line's `--session` comes first; strawboss runs inside a pane that herdr made, where
the environment says it all.
"""

from __future__ import annotations

import ntpath
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass

from strawboss.recovery.verdict import Unknown

WINDOWS = "win32"
PIPE_PREFIX = "\\\\.\\pipe\\"
SESSION_NAME = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,64}\Z")
DEFAULT_SESSION = "default"


@dataclass(frozen=True, slots=True)
class Address:
    """`path` of the socket; on Windows a marker file lies there, and `pipe` (else "") is the pipe's name."""

    path: str
    pipe: str = ""

    def __str__(self) -> str:
        return self.pipe or self.path


def find_address(environment: Mapping[str, str], platform: str) -> Address | Unknown:
    """herdr's API socket for a process in `environment`; `platform` in sys.platform's words.

    `HERDR_SOCKET_PATH` as it is, else in the data directory of `HERDR_SESSION`, else of the default session.
    Unknown when `HERDR_SESSION` is not a name herdr would take.
    """
    path = environment.get("HERDR_SOCKET_PATH") or _session_socket(environment, platform)
    if isinstance(path, Unknown):
        return path
    return Address(path, PIPE_PREFIX + path if platform == WINDOWS else "")


def _session_socket(environment: Mapping[str, str], platform: str) -> str | Unknown:
    join = ntpath.join if platform == WINDOWS else posixpath.join
    directory = join(_config_home(environment, platform), "herdr")
    name = environment.get("HERDR_SESSION") or DEFAULT_SESSION
    if not SESSION_NAME.match(name):
        return Unknown(
            "HERDR_SESSION is no session name: herdr takes 1 to 64 of letters, digits, '.', '_' and '-'"
        )
    return (
        join(directory, "herdr.sock")
        if name == DEFAULT_SESSION
        else join(directory, "sessions", name, "herdr.sock")
    )


def _config_home(environment: Mapping[str, str], platform: str) -> str:
    """The directory herdr's own folder lies in; without any home that is the temporary directory."""
    if configured := environment.get("XDG_CONFIG_HOME"):
        return configured
    return _windows_config_home(environment) if platform == WINDOWS else _unix_config_home(environment)


def _unix_config_home(environment: Mapping[str, str]) -> str:
    home = environment.get("HOME")
    return posixpath.join(home, ".config") if home else environment.get("TMPDIR") or "/tmp"  # noqa: S108 - herdr's rule


def _windows_config_home(environment: Mapping[str, str]) -> str:
    if roaming := environment.get("APPDATA"):
        return roaming
    profile = environment.get("USERPROFILE")
    if profile:
        return ntpath.join(profile, "AppData", "Roaming")
    return environment.get("TMP") or environment.get("TEMP") or "C:\\Windows\\Temp"
