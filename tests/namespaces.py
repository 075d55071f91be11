"""Programs in a pid namespace of their own: what they are called there, others cannot see."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest


def namespace_command(*, own_proc: bool = True) -> list[str]:
    """What to put before a command. Skips the test where the system does not let us."""
    command = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--pid", "--fork"]
    command += ["--kill-child"] + (["--mount-proc"] if own_proc else [])
    if shutil.which("unshare") is None or subprocess.run([*command, "true"], capture_output=True).returncode:
        pytest.skip("this system does not let us make a pid namespace")
    return command


def in_new_namespace(command: list[str], *, own_proc: bool = True) -> str:
    """What the command prints there."""
    wrapped = [*namespace_command(own_proc=own_proc), *command]
    return subprocess.run(wrapped, capture_output=True, text=True, check=True, timeout=60).stdout
