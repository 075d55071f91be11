"""A launcher's session looked at from outside pi: its runs are seen, and nothing is touched."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from runs.written import RUN, activity, header, message, script, text

from strawboss.config import Config
from strawboss.resident.outside import NotASessionError, OutsideLook, look_from_outside

CHILD = f"2026-12-01T21-47-46-949Z_{RUN}-1a54df95-6a7903a4-264c.jsonl"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    file = tmp_path / "2026-12-01T21-46-26-423Z_boss.jsonl"
    file.write_bytes(text(header("boss"), message("user", content="hello")))
    for folder in ("subagent-activity", "subagent-scripts"):
        (tmp_path / "artifacts" / "boss" / folder).mkdir(parents=True)
    (tmp_path / "artifacts" / "boss" / "subagent-activity" / f"{RUN}.json").write_text(
        json.dumps(activity(RUN))
    )
    written = script(RUN, str(tmp_path / CHILD))
    (tmp_path / "artifacts" / "boss" / "subagent-scripts" / f"beta-{RUN}.sh").write_text(written)
    return file


def look(session: Path, **environment: str) -> OutsideLook:
    given: Mapping[str, str] = {
        "HERDR_SOCKET_PATH": str(session.parent / "none"),
        "HOME": str(session.parent),
    }
    return look_from_outside(session, Config(), {**given, **environment})


def contents(directory: Path) -> dict[Path, str]:
    files = [file for file in directory.rglob("*") if file.is_file()]
    return {file: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_its_runs_are_seen_as_if_its_registry_were_empty(session: Path) -> None:
    seen = look(session)
    [report] = seen.look.runs
    assert (seen.launcher.id, seen.launcher.file) == ("boss", str(session))
    assert (report.run, report.name, report.state) == (RUN, "Beta", "watching")
    assert report.obstacle is not None
    assert report.obstacle.answer.value == "unknown"


def test_nothing_is_written_anywhere(session: Path) -> None:
    before = contents(session.parent)
    look(session)
    assert contents(session.parent) == before


@pytest.mark.parametrize(
    "content", [b"", b"{}\n", b"hello\n", b'{"type":"session","version":1,"id":"x"}\n', b"\xff\n"]
)
def test_a_file_that_is_no_session_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x.jsonl"
    file.write_bytes(content)
    with pytest.raises(NotASessionError) as refused:
        look(file)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotASessionError, match="No such file"):
        look(tmp_path / "none.jsonl")
