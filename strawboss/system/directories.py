"""Where strawboss keeps its own files. Never a neighbour's path: those come from the neighbours themselves."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

XDG = {"state": ".local/state", "config": ".config"}
PLAIN_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")


def file_name(session_id: str) -> str:
    """The id, where it can be a file's name."""
    is_plain = PLAIN_ID.fullmatch(session_id) and session_id.strip(".")
    if is_plain:
        return session_id
    import hashlib  # OpenSSL costs the resident process 3 MiB, and no id of pi's needs it

    return hashlib.sha256(session_id.encode()).hexdigest()


def state_directory() -> Path:
    """Logs, locks, the task store: `STRAWBOSS_STATE_DIR`, else the platform's state directory."""
    return _from_environment("STRAWBOSS_STATE_DIR") or _of_platform("state")


def config_file() -> Path:
    """`STRAWBOSS_CONFIG`, else `config.yaml` in the platform's config directory."""
    return _from_environment("STRAWBOSS_CONFIG") or config_directory() / "config.yaml"


def config_directory() -> Path:
    """`STRAWBOSS_CONFIG_DIR`, else the platform's config directory."""
    return _from_environment("STRAWBOSS_CONFIG_DIR") or _of_platform("config")


def _of_platform(kind: str) -> Path:
    """On Linux the XDG base directories are two lines; elsewhere platformdirs knows, at the price of its imports."""
    if sys.platform == "linux":
        told = os.environ.get(f"XDG_{kind.upper()}_HOME", "").strip()
        return Path(told or Path.home() / XDG[kind], "strawboss")
    import platformdirs

    return Path(getattr(platformdirs, f"user_{kind}_dir")("strawboss", appauthor=False))


def _from_environment(name: str) -> Path | None:
    value = os.environ.get(name, "").strip()
    if not value:
        return None
    return Path(value).expanduser() if value.startswith("~") else Path(value)
