from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from strawboss.system.process_identity import Liveness, ProcessIdentity, identify, liveness
from strawboss.wakeup import processes
from strawboss.wakeup.processes import CYCLE_VARIABLE, cpu_seconds, end_at_once, end_tree, tree

pytestmark = pytest.mark.slow

CYCLE = f"cycle-test-{os.getpid()}"
# A parent, a child, a grandchild that has left both, and all of them deaf to SIGTERM when told so.
FAMILY = """
import os, signal, subprocess, sys, time
deaf, directory = sys.argv[1] == "deaf", sys.argv[2]
if deaf:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", '''
import os, signal, subprocess, sys, time
if sys.argv[1] == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open(sys.argv[2] + "/orphan", "w").write(str(os.getpid()))
        time.sleep(600)
    os._exit(0)
open(sys.argv[2] + "/child", "w").write(str(os.getpid()))
time.sleep(600)
''', *sys.argv[1:]])
open(directory + "/parent", "w").write(str(os.getpid()))
time.sleep(600)
"""
MEMBERS = ("parent", "child", "orphan")


@pytest.fixture
def family(tmp_path: Path, until: Callable[..., object]) -> Iterator[Callable[[str], list[ProcessIdentity]]]:
    started: list[subprocess.Popen[bytes]] = []

    def start(mood: str) -> list[ProcessIdentity]:
        environment = {**os.environ, CYCLE_VARIABLE: CYCLE}
        command = [sys.executable, "-c", FAMILY, mood, str(tmp_path)]
        started.append(subprocess.Popen(command, env=environment, start_new_session=True))
        return [_member(tmp_path / name, until) for name in MEMBERS]

    yield start
    for name in MEMBERS:
        if (
            (tmp_path / name).exists()
            and psutil.pid_exists(pid := int((tmp_path / name).read_text() or 0))
            and pid
        ):
            os.kill(pid, signal.SIGKILL)
    for process in started:
        process.wait()


def _member(file: Path, until: Callable[..., object]) -> ProcessIdentity:
    until(lambda: file.exists() and file.read_text(), f"the pid of the {file.name}")
    found = identify(int(file.read_text()))
    assert found is not None
    return found


@pytest.mark.parametrize("mood", ["obedient", "deaf"])
def test_a_whole_family_ends_also_the_orphan_that_left_it(
    family: Callable[[str], list[ProcessIdentity]], mood: str
) -> None:
    members = family(mood)
    assert end_tree(members[:1], CYCLE, patience=0.2)
    assert {liveness(member) for member in members} == {Liveness.GONE}


def test_a_family_whose_head_is_gone_is_found_by_its_cycle(
    family: Callable[[str], list[ProcessIdentity]],
) -> None:
    parent, *rest = family("obedient")
    os.kill(parent.pid, signal.SIGKILL)
    assert {process.pid for process in tree([parent], CYCLE)} >= {member.pid for member in rest}
    assert end_tree([parent], CYCLE)
    assert {liveness(member) for member in rest} == {Liveness.GONE}


def test_a_stopped_process_ends_too(family: Callable[[str], list[ProcessIdentity]]) -> None:
    members = family("obedient")
    for member in members:
        os.kill(member.pid, signal.SIGSTOP)
    assert end_tree(members[:1], CYCLE, patience=0.1)
    assert {liveness(member) for member in members} == {Liveness.GONE}


def test_a_stranger_with_the_pid_is_spared(family: Callable[[str], list[ProcessIdentity]]) -> None:
    parent = family("obedient")[0]
    someone_else = replace(parent, started=parent.started - 100)
    assert end_tree([someone_else], "cycle-of-nobody")
    assert liveness(parent) is Liveness.SAME


def test_a_process_whose_identity_cannot_be_read_is_spared(
    family: Callable[[str], list[ProcessIdentity]], monkeypatch: pytest.MonkeyPatch
) -> None:
    members = family("obedient")
    monkeypatch.setattr(processes, "liveness", lambda identity: Liveness.UNKNOWN)
    assert tree(members[:1], "cycle-of-nobody") == []
    assert not end_tree(members[:1], CYCLE)  # not even what the cycle marks: all of it or nothing
    assert {liveness(member) for member in members} == {Liveness.SAME}


def test_one_process_can_be_ended_at_once_and_a_stranger_is_spared(
    family: Callable[[str], list[ProcessIdentity]],
) -> None:
    parent, child, _ = family("deaf")
    assert end_at_once(replace(parent, started=parent.started - 100))
    assert liveness(parent) is Liveness.SAME
    assert not end_at_once(replace(parent, namespace="pid:[1]"))
    assert liveness(parent) is Liveness.SAME
    assert end_at_once(parent)
    assert (liveness(parent), liveness(child)) == (Liveness.GONE, Liveness.SAME)


def test_the_cpu_time_of_a_tree_is_that_of_all_its_processes(until: Callable[..., object]) -> None:
    code = "import os\nif os.fork() == 0:\n  while True: pass\nos.wait()"
    with subprocess.Popen([sys.executable, "-c", code]) as busy:
        root = identify(busy.pid)
        assert root is not None
        until(lambda: cpu_seconds([root], "cycle-of-nobody") > 0.1, "the child to have worked")
        assert end_tree([root], "cycle-of-nobody")
    assert cpu_seconds([root], "cycle-of-nobody") == 0.0


def test_nothing_to_end_is_ended() -> None:
    assert end_tree([], "cycle-of-nobody")


def test_one_never_ends_oneself(monkeypatch: pytest.MonkeyPatch) -> None:
    me = identify(os.getpid())
    assert me is not None
    assert os.getpid() not in {process.pid for process in tree([me], "cycle-of-nobody")}


def test_what_survives_everything_is_said(
    family: Callable[[str], list[ProcessIdentity]], monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = family("obedient")[0]
    monkeypatch.setattr(processes, "_signal", lambda *_: None)
    assert not end_tree([parent], CYCLE)
