"""Where the pi-intercom broker listens, computed from the environment as pi-intercom computes it."""

from __future__ import annotations

import ntpath
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass

from strawboss.recovery.verdict import Unknown

WINDOWS = "win32"
PIPE_PREFIX = "\\\\.\\pipe\\pi-intercom-"


@dataclass(frozen=True, slots=True)
class UnixSocket:
    path: str


@dataclass(frozen=True, slots=True)
class NamedPipe:
    name: str


@dataclass(frozen=True, slots=True)
class EndpointFile:
    """TCP on this machine: the file names the port and the secret of the broker that runs now."""

    path: str


Address = UnixSocket | NamedPipe | EndpointFile


def find_address(environment: Mapping[str, str], platform: str, cwd: str) -> Address | Unknown:
    """The broker's address for a pi that runs in `environment` and `cwd`; `platform` in sys.platform's words."""
    paths = ntpath if platform == WINDOWS else posixpath
    agent_directory = _agent_directory(environment, platform, cwd)
    if isinstance(agent_directory, Unknown):
        return agent_directory
    directory = paths.normpath(paths.join(agent_directory, "intercom"))
    if platform != WINDOWS:
        return UnixSocket(paths.join(directory, "broker.sock"))
    if _wants_tcp(environment):
        return EndpointFile(paths.join(directory, "broker.port.json"))
    return NamedPipe(PIPE_PREFIX + _slug(agent_directory))


def _agent_directory(environment: Mapping[str, str], platform: str, cwd: str) -> str | Unknown:
    paths = ntpath if platform == WINDOWS else posixpath
    configured = environment.get("PI_CODING_AGENT_DIR", "").strip()
    if configured:
        return (
            configured if _is_absolute(configured, platform) else paths.normpath(paths.join(cwd, configured))
        )
    variable = "USERPROFILE" if platform == WINDOWS else "HOME"
    home = environment.get(variable)
    return paths.join(home, ".pi", "agent") if home else Unknown(f"{variable} is not set")


def _is_absolute(path: str, platform: str) -> bool:
    """As node has it: on Windows a leading slash will do, without a drive (Python 3.13 thinks otherwise)."""
    return bool(re.match(r"([A-Za-z]:)?[\\/]", path)) if platform == WINDOWS else path.startswith("/")


def _wants_tcp(environment: Mapping[str, str]) -> bool:
    transport = environment.get("PI_INTERCOM_TRANSPORT", "").strip().lower()
    legacy = environment.get("PI_INTERCOM_TCP", "").strip().lower()
    return transport == "tcp" or legacy in {"1", "true"}


def _slug(agent_directory: str) -> str:
    return re.sub(r"[^a-zA-Z0-9]+", "-", agent_directory).strip("-").lower() or "default"
