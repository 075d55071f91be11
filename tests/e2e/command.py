"""The command line as a user of a machine gives it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path


def strawboss(state: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    """Its exit code, and all it says. `state`: that machine's state directory."""
    own: Mapping[str, str] = {"STRAWBOSS_STATE_DIR": str(state), "STRAWBOSS_CONFIG": str(state / "none.yaml")}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "strawboss", *arguments],
        env={**os.environ, **own, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout
