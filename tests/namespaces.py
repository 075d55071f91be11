"""Programs in a pid namespace of their own: what they are called there, others cannot see."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

ALONE = "STRAWBOSS_TEST_ALONE"  # says which test is run for itself


def namespace_command(*, own_proc: bool = True) -> list[str]:
    """What to put before a command. Skips the test where the system does not let us."""
    command = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--pid", "--fork"]
    command += ["--kill-child"] + (["--mount-proc"] if own_proc else [])
    if shutil.which("unshare") is None or subprocess.run([*command, "true"], capture_output=True).returncode:
        pytest.skip("this system does not let us make a pid namespace")
    return command


def runs_alone(test: str) -> bool:
    """Whether this test is by itself in a namespace; else it is run there first (`test`: its node id), and must pass."""
    if os.environ.get(ALONE) == test:
        return True
    wrapped = [*namespace_command(), sys.executable, "-m", "pytest", "-n", "0", test]
    done = subprocess.run(
        wrapped, env=os.environ | {ALONE: test}, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return False


def in_new_namespace(command: list[str], *, own_proc: bool = True) -> str:
    """What the command prints there."""
    wrapped = [*namespace_command(own_proc=own_proc), *command]
    return subprocess.run(wrapped, capture_output=True, text=True, check=True, timeout=60).stdout
