"""Where strawboss keeps its own files. Never a neighbour's path: those come from the neighbours themselves."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import platformdirs

PLAIN_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")


def file_name(session_id: str) -> str:
    """The id, where it can be a file's name."""
    is_plain = PLAIN_ID.fullmatch(session_id) and session_id.strip(".")
    return session_id if is_plain else hashlib.sha256(session_id.encode()).hexdigest()


def state_directory() -> Path:
    """Logs, locks, the task store: `STRAWBOSS_STATE_DIR`, else the platform's state directory."""
    return _from_environment("STRAWBOSS_STATE_DIR") or Path(
        platformdirs.user_state_dir("strawboss", appauthor=False)
    )


def config_file() -> Path:
    """`STRAWBOSS_CONFIG`, else `config.yaml` in the platform's config directory."""
    return _from_environment("STRAWBOSS_CONFIG") or config_directory() / "config.yaml"


def config_directory() -> Path:
    """`STRAWBOSS_CONFIG_DIR`, else the platform's config directory."""
    return _from_environment("STRAWBOSS_CONFIG_DIR") or Path(
        platformdirs.user_config_dir("strawboss", appauthor=False)
    )


def _from_environment(name: str) -> Path | None:
    value = os.environ.get(name, "").strip()
    return Path(value).expanduser() if value else None
