"""The kernel's own answers: each test tries in a process that has been confined."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from strawboss.wakeup import confine, steps
from strawboss.wakeup.agents import Agent
from strawboss.wakeup.execute import Ended, Order, execute

ENFORCEABLE = pytest.mark.skipif(
    not confine.enforceable(), reason="this kernel has no Landlock that can do it"
)


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A workspace with a file, a state directory inside it, and a neighbour."""
    for name in ("parent/ws/sub", "parent/ws/state", "parent/beside", "other"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("parent/ws/file", "parent/ws/sub/file", "parent/ws/state/file", "parent/beside/file"):
        (tmp_path / name).write_text("as it was")
    (tmp_path / "parent/ws/link").symlink_to("../beside/file")
    return tmp_path


def run(world: Path, code: str) -> subprocess.CompletedProcess[str]:
    descriptor, restrict = confine.read_only(world / "parent/ws", world / "parent/ws/state")
    try:
        return subprocess.run(
            [sys.executable, "-c", code],
            cwd=world / "parent/ws",
            preexec_fn=restrict,
            capture_output=True,
            text=True,
        )
    finally:
        os.close(descriptor)


@ENFORCEABLE
@pytest.mark.parametrize(
    "code",
    [
        "open('file', 'w')",
        "open('file', 'a')",
        "open('sub/file', 'r+')",
        "open('new', 'x')",
        "import os; os.truncate('file', 0)",
        "import os; os.unlink('file')",
        "import os; os.rename('file', 'other')",
        "import os; os.rename('file', '../beside/stolen')",
        "import os; os.link('../beside/file', 'linked')",
        "import os; os.mkdir('dir')",
        "import os; os.symlink('x', 'symlink')",
        "import os; os.mkfifo('pipe')",
        "import os; os.rename('../ws', '../elsewhere')",
        "import subprocess, sys; sys.exit(subprocess.call(['sh', '-c', 'echo x > file']))",
    ],
)
def test_nothing_in_the_workspace_can_be_changed(world: Path, code: str) -> None:
    ran = run(world, code)
    assert ran.returncode != 0
    assert "ermission" in ran.stderr or "cross-device" in ran.stderr, ran.stderr
    assert (world / "parent/ws/file").read_text() == "as it was"
    assert {entry.name for entry in (world / "parent/ws").iterdir()} == {"sub", "state", "file", "link"}


@ENFORCEABLE
@pytest.mark.parametrize(
    "code",
    [
        "open('file').read()",
        "import os; os.listdir('sub')",
        "open('state/file', 'w')",
        "open('state/new', 'w')",
        "open('../beside/file', 'w')",
        "open('../beside/new', 'w')",
        "open('link', 'w')",
        "import os; os.rename('../beside/file', '../../other/file')",
        "import tempfile; tempfile.NamedTemporaryFile(dir='/dev/shm')",
        "open('/dev/null', 'w').write('x')",
    ],
)
def test_it_can_be_read_and_everything_beside_it_can_be_written_to(world: Path, code: str) -> None:
    ran = run(world, code)
    assert ran.returncode == 0, ran.stderr


@ENFORCEABLE
def test_the_command_of_a_read_only_agent_is_confined_and_that_of_others_is_not(
    world: Path, home: Path
) -> None:
    def wrote(read_only: bool) -> bool:
        (world / "parent/ws/new").unlink(missing_ok=True)
        output = home / "state" / "output" / "x.log"
        argv = ("sh", "-c", "echo said; echo x > new")
        order = Order(
            argv,
            {"prompt": ""},
            world / "parent/ws",
            dict(os.environ),
            output,
            20,
            "cycle-x",
            read_only=read_only,
        )
        done = execute(order, lambda _: None, lambda _: None)
        assert done.answer == "said"
        return (world / "parent/ws/new").exists()

    assert (wrote(False), wrote(True)) == (True, False)


def test_a_command_that_cannot_be_confined_is_not_run(
    world: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise PermissionError

    monkeypatch.setattr(confine, "enforceable", lambda: True)
    monkeypatch.setattr(confine, "read_only", lambda *_: (os.open("/dev/null", os.O_RDONLY), fail))
    order = Order(
        ("touch", "new"),
        {"prompt": ""},
        world / "parent/ws",
        dict(os.environ),
        home / "x.log",
        20,
        "cycle-x",
        read_only=True,
    )
    done = execute(order, lambda _: None, lambda _: None)
    assert (done.ended, "kept from writing" in done.why) == (Ended.NOT_STARTED, True)
    assert not (world / "parent/ws/new").exists()


@pytest.mark.parametrize(("scope", "enforceable", "says"), [
    ("read-only", True, ""), ("read-only", False, "cannot enforce it"), ("read-write", False, ""),
])  # fmt: skip
def test_where_it_cannot_be_enforced_the_first_step_says_so(
    scope: str, enforceable: bool, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    enforce: Callable[[], bool] = lambda: enforceable  # noqa: E731
    monkeypatch.setattr(confine, "enforceable", enforce)
    said = steps._enforcement(Agent("writer", scope=scope))  # type: ignore[arg-type]
    assert bool(said) is bool(says)
    assert says in said
