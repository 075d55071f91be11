"""A pid means a process only together with its start and its boot."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from namespaces import in_new_namespace
from pytest_mock import MockerFixture

from strawboss.system.process_identity import Liveness, Place, here, identify, liveness, machine_id

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pid namespaces and /proc are Linux'")


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


def test_r78_a_process_of_another_boot_of_this_machine_is_gone_whoever_has_its_pid_now(
    mocker: MockerFixture,
) -> None:
    identity = identify(os.getpid())
    assert identity is not None
    before = replace(identity, boot="another", machine="m")
    mocker.patch("strawboss.system.process_identity.here", return_value=replace(here(), machine="m"))
    assert liveness(before) is Liveness.GONE


@pytest.mark.parametrize("machine", ["another", ""])
def test_a_process_of_another_boot_of_another_or_an_unnamed_machine_is_unknown(machine: str) -> None:
    identity = identify(os.getpid())
    assert identity is not None
    assert liveness(replace(identity, boot="another", machine=machine)) is Liveness.UNKNOWN


def test_a_process_of_another_pid_namespace_is_unknown_whoever_has_its_pid_here() -> None:
    identity = identify(os.getpid())
    assert identity is not None
    assert liveness(replace(identity, namespace="pid:[1]")) is Liveness.UNKNOWN


def test_an_identity_from_before_namespaces_were_noted_is_unknown_on_linux() -> None:
    identity = identify(os.getpid())
    assert identity is not None
    judged = liveness(replace(identity, namespace="", machine=""))
    assert judged is (Liveness.UNKNOWN if here().namespace else Liveness.SAME)


@linux
@pytest.mark.parametrize(("own_proc", "seen"), [(True, "alive"), (False, "unknown")])
def test_in_a_new_namespace_only_its_own_proc_shows_its_processes(own_proc: bool, seen: str) -> None:
    mine = identify(os.getpid())
    assert mine is not None
    code = (
        "import os; from strawboss.system.process_identity import *\n"
        f"print(liveness({mine!r}).value)\n"
        "me = identify(os.getpid()); print(liveness(me).value if me else 'unknown')"
    )
    printed = in_new_namespace([sys.executable, "-c", code], own_proc=own_proc)
    assert printed.split() == ["unknown", seen]


@linux
def test_r80_a_start_that_cannot_be_read_is_unknown_not_different(mocker: MockerFixture) -> None:
    identity = identify(os.getpid())
    assert identity is not None
    mocker.patch("builtins.open", side_effect=PermissionError)
    assert liveness(identity) is Liveness.UNKNOWN
    assert identify(os.getpid()) is None


def test_without_a_boot_id_the_start_is_a_date_and_decides_alone(mocker: MockerFixture) -> None:
    mocker.patch("strawboss.system.process_identity.boot_id", return_value="")
    mocker.patch("strawboss.system.process_identity.here", return_value=Place("", "", "", True))
    identity = identify(os.getpid())
    assert identity is not None
    assert abs(identity.started - psutil.Process().create_time()) < 1
    assert liveness(identity) is Liveness.SAME
    assert liveness(replace(identity, started=1.0)) is Liveness.OTHER


@linux
def test_r77_a_step_of_the_wall_clock_makes_nobody_a_stranger(mocker: MockerFixture) -> None:
    identity = identify(os.getpid())
    assert identity is not None
    stepped = psutil.boot_time() + 3600
    mocker.patch("psutil._pslinux.boot_time", return_value=stepped)
    mocker.patch("psutil.boot_time", return_value=stepped)
    assert liveness(identity) is Liveness.SAME


def test_the_machine_is_named_by_a_digest_and_clones_with_other_names_are_others(
    mocker: MockerFixture, tmp_path: Path
) -> None:
    file = tmp_path / "machine-id"
    file.write_text("3d1219c7\n")
    mocker.patch("strawboss.system.process_identity.MACHINE_ID_FILES", (tmp_path / "none", file))
    named = mocker.patch("socket.gethostname", return_value="desk")
    one = machine_id.__wrapped__()
    named.return_value = "shelf"
    assert one != machine_id.__wrapped__()
    assert "3d1219c7" not in one
    file.write_text("")
    assert machine_id.__wrapped__() == ""
