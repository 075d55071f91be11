"""One session start at work, look after look, without a process around it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from runs.written import RUN, activity, header, message, script, text

from strawboss.config import Config
from strawboss.pi.link import Link
from strawboss.pi.protocol import Started
from strawboss.resident.log import Log
from strawboss.resident.session import ReplacedError, Session

Make = Callable[..., Session]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    made = Log(tmp_path / "logs", "abc")
    yield made
    made.close()


@pytest.fixture
def session(tmp_path: Path, log: Log) -> Make:
    """`session(replaced)` works for a launcher whose extension tracks nothing."""
    file = tmp_path / "x_abc.jsonl"
    file.write_bytes(text(header("abc"), message("user", content="hello")))
    pending: list[bytes] = []

    def write(line: bytes) -> None:
        result = {"readable": True, "ids": []}
        pending.append(json.dumps({"id": json.loads(line)["id"], "result": result}).encode() + b"\n")

    def make(replaced: Callable[[], bool] = lambda: False) -> Session:
        link = Link(lambda _: pending.pop(0) if pending else None, write, lambda _: None, lambda _: None)
        started = Started(1, "abc", "startup", str(file), str(tmp_path), "", str(tmp_path))
        environment = {"HERDR_SOCKET_PATH": str(tmp_path / "none"), "HOME": str(tmp_path)}
        return Session(started, Config(), environment, "linux", link, log, replaced)

    return make


def launch(directory: Path) -> None:
    artifacts = directory / "artifacts" / "abc"
    for folder in ("subagent-activity", "subagent-scripts"):
        (artifacts / folder).mkdir(parents=True)
    (artifacts / "subagent-activity" / f"{RUN}.json").write_text(json.dumps(activity(phase="active")))
    (artifacts / "subagent-scripts" / f"beta-{RUN}.sh").write_text(script())


def test_a_look_without_runs_reports_none(session: Make) -> None:
    assert session().look().runs == ()


def test_a_run_that_appears_between_two_looks_is_reported(session: Make, tmp_path: Path) -> None:
    working = session()
    assert working.look().runs == ()
    launch(tmp_path)
    (report,) = working.look().runs
    assert (report.run, report.name) == (RUN, "Beta")


def test_only_news_is_logged(session: Make, tmp_path: Path, log: Log) -> None:
    working = session()
    working.look()
    working.look()
    launch(tmp_path)
    working.look()
    events: list[dict[str, Any]] = [json.loads(line) for line in log.file.read_text().splitlines()]
    assert [event["event"] for event in events] == ["looked", "looked"]
    assert [sorted(event["runs"]) for event in events] == [[], [RUN]]


def test_a_look_of_a_session_that_was_replaced_meanwhile_goes_no_further(session: Make) -> None:
    answers = iter([False, True])
    with pytest.raises(ReplacedError):
        session(lambda: next(answers)).look()
