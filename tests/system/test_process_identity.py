"""A pid means a process only together with its start and its boot."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import psutil
import pytest
from pytest_mock import MockerFixture

from strawboss.system.process_identity import Liveness, identify, liveness


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def test_a_living_process_is_the_same(sleeper: subprocess.Popen[bytes]) -> None:
    identity = identify(sleeper.pid)
    assert identity is not None
    assert liveness(identity) is Liveness.SAME


def test_r29_a_dead_process_is_gone_and_a_zombie_too(sleeper: subprocess.Popen[bytes]) -> None:
    identity = identify(sleeper.pid)
    assert identity is not None
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)  # ended, not yet reaped
    assert liveness(identity) is Liveness.GONE
    sleeper.wait()
    assert liveness(identity) is Liveness.GONE
    assert identify(sleeper.pid) is None


def test_r29_a_pid_with_another_start_is_another_process() -> None:
    identity = identify(os.getpid())
    assert identity is not None
    assert liveness(replace(identity, started=identity.started - 1)) is Liveness.OTHER


def test_r78_a_process_of_another_boot_is_gone_whoever_has_its_pid_now() -> None:
    identity = identify(os.getpid())
    assert identity is not None
    assert liveness(replace(identity, boot="another")) is (Liveness.GONE if identity.boot else Liveness.SAME)


def test_r80_a_start_that_cannot_be_read_is_unknown_not_different(mocker: MockerFixture) -> None:
    identity = identify(os.getpid())
    assert identity is not None
    mocker.patch.object(psutil.Process, "create_time", side_effect=psutil.AccessDenied(os.getpid()))
    assert liveness(identity) is Liveness.UNKNOWN
    assert identify(os.getpid()) is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="starts are counted from boot on Linux only")
def test_r77_a_step_of_the_wall_clock_makes_nobody_a_stranger(mocker: MockerFixture) -> None:
    identity = identify(os.getpid())
    assert identity is not None
    stepped = psutil.boot_time() + 3600
    mocker.patch("psutil._pslinux.boot_time", return_value=stepped)
    mocker.patch("psutil.boot_time", return_value=stepped)
    assert liveness(identity) is Liveness.SAME
