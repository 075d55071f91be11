"""The process's log: JSON lines, private, bounded."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from strawboss.resident import log as log_module
from strawboss.resident.log import Log


@pytest.fixture
def opened() -> Iterator[Callable[..., Log]]:
    """`opened(directory, name)` is a log that the test need not close."""
    made: list[Log] = []

    def make(directory: Path, name: str = "abc") -> Log:
        made.append(Log(directory, name))
        return made[-1]

    yield make
    for log in made:
        log.close()


def lines(log: Log) -> list[dict[str, object]]:
    return [json.loads(line) for line in log.file.read_text().splitlines()]


def test_each_event_is_one_json_line_with_level_and_time(opened: Callable[..., Log], tmp_path: Path) -> None:
    log = opened(tmp_path / "logs")
    log.info("looked", runs={"1a2b3c4d": "tracked"})
    log.warning("off", why="two\nlines")
    first, second = lines(log)
    assert (first["event"], first["level"], first["runs"]) == ("looked", "info", {"1a2b3c4d": "tracked"})
    assert str(first["timestamp"]).endswith("Z")
    assert second["why"] == "two\nlines"


def test_a_failure_has_its_traceback(opened: Callable[..., Log], tmp_path: Path) -> None:
    log = opened(tmp_path)
    try:
        raise ValueError("out of straw")
    except ValueError:
        log.failed("look failed")
    (line,) = lines(log)
    assert "Traceback" in str(line["exception"])
    assert "ValueError: out of straw" in str(line["exception"])


def test_directory_and_files_are_private(opened: Callable[..., Log], tmp_path: Path) -> None:
    log = opened(tmp_path / "state" / "logs")
    before = os.umask(0)
    try:
        log.info("x")
    finally:
        os.umask(before)
    assert stat.S_IMODE(log.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.file.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(log.file.parent.parent.stat().st_mode) == 0o700


def test_a_log_never_grows_beyond_its_size_and_one_before(
    opened: Callable[..., Log], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_module, "SIZE", 2000)
    log = opened(tmp_path)
    for number in range(200):
        log.info("looked", number=number)
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["abc.jsonl", "abc.jsonl.1"]
    assert all(file.stat().st_size <= 2000 for file in files)
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)
    assert lines(log)[-1]["number"] == 199


def test_logs_of_old_sessions_are_removed(
    opened: Callable[..., Log], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_module, "KEPT_FILES", 3)
    for age in range(6):
        file = tmp_path / f"old{age}.jsonl"
        file.touch()
        os.utime(file, (1_000_000 - age, 1_000_000 - age))
    opened(tmp_path, "new").info("x")
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "new.jsonl",
        "old0.jsonl",
        "old1.jsonl",
        "old2.jsonl",
    ]


def test_a_log_that_cannot_be_written_is_lost_in_silence(
    opened: Callable[..., Log], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    log = opened(tmp_path / "file")
    log.info("x")
    log.warning("y")
    assert capfd.readouterr() == ("", "")


def test_nothing_is_opened_before_the_first_line(opened: Callable[..., Log], tmp_path: Path) -> None:
    opened(tmp_path / "logs")
    assert list(tmp_path.iterdir()) == []
