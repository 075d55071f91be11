from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from strawboss.config import Config, Paths
from strawboss.doctor.finding import Patient
from strawboss.pi.command import PiError


@pytest.fixture
def place() -> Iterator[Path]:
    """Short enough for a socket's path."""
    with tempfile.TemporaryDirectory(prefix="sb-", dir="/tmp") as directory:
        yield Path(directory)


@pytest.fixture
def patient(place: Path) -> Callable[..., Patient]:
    """`patient(packages=…)`: everything of it lies in `place`."""
    agent = place / "agent"
    (agent / "extensions").mkdir(parents=True)

    def make(**changes: Any) -> Patient:
        environment = {
            "PI_CODING_AGENT_DIR": str(agent),
            "HERDR_SOCKET_PATH": str(place / "h.sock"),
            "PATH": os.environ["PATH"],
            **changes.pop("environment", {}),
        }
        config = Config(paths=Paths(state=str(place / "state")))
        whole = {"environment": environment, "config": config, "pi": PiError("no pi"), "cwd": str(place)}
        return Patient(**(whole | changes))

    return make
