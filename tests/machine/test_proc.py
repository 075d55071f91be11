"""Read from this machine's own `/proc`, where it has one, and from damaged ones."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from strawboss.machine import proc
from strawboss.machine.seen import SESSION_VARIABLE, Seen
from strawboss.recovery.evidence import Identity
from strawboss.system.process_identity import identify as by_psutil

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def started(argv0: str, *words: str, **environment: str) -> subprocess.Popen[bytes]:
    command = [argv0, "-c", "print(flush=True); input()", *words]
    process = subprocess.Popen(
        command, executable=sys.executable, stdin=-1, stdout=-1, env={**os.environ, **environment}
    )
    assert process.stdout is not None
    process.stdout.readline()  # exec is done
    return process


@pytest.fixture
def pi() -> Iterator[subprocess.Popen[bytes]]:
    with started("pi", "/s/x y.jsonl", **{SESSION_VARIABLE: "/s/a=b.jsonl"}) as process:
        yield process
        process.kill()


def seen(pid: int) -> list[Seen]:
    return [one for one in proc.processes() if one.pid == pid]


def test_a_pi_is_seen_with_its_arguments_and_its_environment(pi: subprocess.Popen[bytes]) -> None:
    [one] = seen(pi.pid)
    assert one.argv is not None
    assert one.environment is not None
    assert (one.mine, one.argv[0], one.argv[-1]) == (True, "pi", "/s/x y.jsonl")
    assert one.environment[SESSION_VARIABLE] == "/s/a=b.jsonl"


def test_of_any_other_process_the_environment_is_left_alone() -> None:
    with started("python", SECRET="x") as process:
        [one] = seen(process.pid)
        process.kill()
    assert one.environment == {}


def test_this_process_and_the_dead_are_not_listed(pi: subprocess.Popen[bytes]) -> None:
    assert seen(os.getpid()) == []
    pi.kill()
    os.waitid(os.P_PID, pi.pid, os.WEXITED | os.WNOWAIT)  # ended, not yet reaped
    assert seen(pi.pid) == []


def test_a_process_is_identified_as_everywhere_else(pi: subprocess.Popen[bytes]) -> None:
    expected = by_psutil(pi.pid)
    assert expected is not None
    assert proc.identify(pi.pid) == Identity(pi.pid, pytest.approx(expected.started, abs=0.02), expected.boot)


def test_a_dead_process_has_no_identity(pi: subprocess.Popen[bytes]) -> None:
    pi.kill()
    os.waitid(os.P_PID, pi.pid, os.WEXITED | os.WNOWAIT)
    assert proc.identify(pi.pid) is None
    pi.wait()
    assert proc.identify(pi.pid) is None


def test_without_a_list_nobody_is_said_to_be_gone(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        proc.identify(1, tmp_path)
    with pytest.raises(FileNotFoundError):
        list(proc.processes(tmp_path / "proc"))


def fake(root: Path, pid: int, stat: str, cmdline: bytes = b"pi\0", environ: bytes = b"A=1\0B\0") -> Path:
    entry = root / str(pid)
    entry.mkdir()
    (entry / "stat").write_text(stat)
    (entry / "cmdline").write_bytes(cmdline)
    (entry / "environ").write_bytes(environ)
    return entry


ALIVE = "7 (a) (pi) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 250 0 0"


def test_a_name_may_hold_brackets_and_spaces(tmp_path: Path) -> None:
    fake(tmp_path, 7, ALIVE)
    [one] = proc.processes(tmp_path)
    assert one == Seen(7, "a) (pi", True, ("pi",), {"A": "1", "B": ""})


def test_one_that_goes_meanwhile_is_left_out(tmp_path: Path) -> None:
    fake(tmp_path, 7, ALIVE)
    (tmp_path / "8").mkdir()
    assert [one.pid for one in proc.processes(tmp_path)] == [7]


@pytest.mark.parametrize("hidden", ["cmdline", "environ"])
def test_what_may_not_be_read_is_none(tmp_path: Path, hidden: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path, 7, ALIVE.replace("a) (pi", "pi"))
    read = Path.read_bytes

    def refuse(path: Path) -> bytes:
        if path.name == hidden:
            raise PermissionError(13, "Permission denied")
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    [one] = proc.processes(tmp_path)
    assert (one.argv is None, one.environment is None) == (hidden == "cmdline", hidden == "environ")
