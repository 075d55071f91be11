from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from strawboss.machine import ProcessList, proc
from strawboss.machine.seen import SESSION_VARIABLE
from strawboss.recovery.evidence import Holders, Identity
from strawboss.recovery.verdict import Unknown

FILE = f"/s/{os.getpid()}-a213437c-1a54df95-6a7903a4-264c.jsonl"


@pytest.fixture(params=["linux", "elsewhere"])
def machine(request: pytest.FixtureRequest) -> ProcessList:
    """Both readers of this machine: `/proc` where it has one, and psutil."""
    if request.param == "linux" and sys.platform != "linux":
        pytest.skip("reads /proc")
    return ProcessList(request.param)


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    command = ["pi", "-c", "print(flush=True); input()", "quiet"]
    environment = {**os.environ, SESSION_VARIABLE: FILE}
    with subprocess.Popen(
        command, executable=sys.executable, stdin=-1, stdout=-1, env=environment
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def test_a_pi_on_the_session_is_found_and_nothing_else_of_it_is_told(
    machine: ProcessList, sleeper: subprocess.Popen[bytes]
) -> None:
    found = machine.holders(FILE, "")
    assert isinstance(found, Holders)
    assert [(one.pid, one.argv) for one in found.naming] == [(sleeper.pid, None)]
    assert found.naming[0].name


def test_a_session_nobody_is_on_has_no_holder(machine: ProcessList, sleeper: subprocess.Popen[bytes]) -> None:
    found = machine.holders("/s/nobody-on-this.jsonl", "/a/nobody-on-this.sh")
    assert isinstance(found, Holders)
    assert found.naming == ()
    assert sleeper.pid not in (*found.silent, *found.unreadable)


def test_a_pid_is_identified_while_its_process_lives(
    machine: ProcessList, sleeper: subprocess.Popen[bytes]
) -> None:
    found = machine.identify(sleeper.pid)
    assert isinstance(found, Identity)
    assert found == machine.identify(sleeper.pid)
    sleeper.kill()
    sleeper.wait()
    assert machine.identify(sleeper.pid) is None


@pytest.mark.parametrize(
    "error", [PermissionError(13, "Permission denied"), ValueError("junk"), IndexError()]
)
def test_a_machine_that_shows_no_list_is_unknown(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(proc, "processes", refuse)
    monkeypatch.setattr(proc, "identify", refuse)
    for found in (ProcessList("linux").holders(FILE, ""), ProcessList("linux").identify(1)):
        assert isinstance(found, Unknown)
        assert found.why.startswith("this machine's processes cannot be listed: ")


def test_where_psutil_is_refused_it_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> psutil.Process:
        raise psutil.AccessDenied(1)

    monkeypatch.setattr(psutil, "Process", refuse)
    assert ProcessList("elsewhere").identify(1) == Unknown("process 1 may not be asked: AccessDenied")


def test_on_linux_nothing_asks_psutil() -> None:
    code = (
        "import sys; from strawboss.machine import ProcessList; p = ProcessList('linux'); "
        "p.holders('/s/x.jsonl', ''); p.identify(1); sys.exit('psutil' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
