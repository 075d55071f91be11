"""Any single file of a recorded story torn at any byte, emptied, removed or replaced by junk: no act that the whole
evidence would not also justify, and never an exception.

Every cut position of every file is tried. What a file says is read at each position; the story is told once for each
different thing the file says (a look depends on nothing else of it).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tape.scenes import LAUNCHER, RECORDED, STORIES, acts, directory, tell

from strawboss.recovery.settings import Settings
from strawboss.runs import activity, script
from strawboss.runs.sidecars import parse_worktree
from strawboss.runs.tail import read_tail
from strawboss.tape.play import Told, play
from strawboss.tape.recording import Recording, RegistryFile, open_recording, read_json, read_roster

pytestmark = pytest.mark.slow

JUNK = (b"", b"\x00" * 64, b"[]", b"{}", b"null\n", b'{"version": 1}\n', b"\xff\xfe junk \x1b[2J\n" * 50)

# Which moments of which story; a moment's damage is told in every story it is part of.
MOMENTS = sorted({moment for moments in STORIES.values() for moment in moments})


@pytest.fixture(params=MOMENTS)
def moment(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def damaged(moment: str, tmp_path: Path) -> Path:
    """A private copy of the moment, to be damaged one file at a time."""
    return shutil.copytree(directory(moment), tmp_path / directory(moment).name)


def test_no_damage_to_one_file_leads_to_an_act_of_its_own(moment: str, damaged: Path) -> None:
    allowed = {name: acts(tell(whole(name))) for name in STORIES if moment in STORIES[name]}
    positions = 0
    for file in files_of(damaged):
        content = file.read_bytes()
        for tried in variants(file, content, reading(damaged, file)):
            positions += tried
            for name, whole_acts in allowed.items():
                told = story(STORIES[name], moment, damaged)
                assert acts(told) <= whole_acts, (name, file.name, file.exists() and file.read_bytes()[-200:])
        file.write_bytes(content)
    assert positions > 10_000


def story(moments: Sequence[str], damaged_moment: str, damaged: Path) -> list[Told]:
    opened = open_recording(damaged, LAUNCHER, "linux")
    looks = [opened if one == damaged_moment else undamaged(one) for one in moments]
    return play(looks, Settings())[0]


@cache
def undamaged(moment: str) -> Recording:
    return open_recording(directory(moment), LAUNCHER, "linux")


def whole(name: str) -> list[Path]:
    return [directory(moment) for moment in STORIES[name]]


def files_of(damaged: Path) -> list[Path]:
    return sorted(path for path in damaged.rglob("*") if path.is_file() and path.name != "note.txt")


def variants(file: Path, whole: bytes, read: Callable[[bytes], Any]) -> Iterator[int]:
    """Damage the file in place, again and again; stop wherever it says a new thing, with the count of positions tried."""
    file.unlink()
    yield 1
    seen: set[str] = set()
    tried = 0
    for content in (*JUNK, *(whole[:position] for position in range(len(whole) - 1, -1, -1))):
        if content and whole.startswith(content) and file.exists():
            os.truncate(file, len(content))
        else:
            file.write_bytes(content)
        tried += 1
        says = repr(read(content))
        if says not in seen:
            seen.add(says)
            yield tried
            tried = 0
        if content in JUNK:
            file.write_bytes(whole)
    yield tried


def reading(damaged: Path, file: Path) -> Callable[[bytes], Any]:
    """What a look would read of that file, by the reader that reads it."""
    recording = open_recording(damaged, LAUNCHER, "linux")
    if file.name == "registry.json":
        return lambda _: read_json(file, RegistryFile)
    if file.name == "intercom.json":
        return lambda _: read_roster(file)
    if file.name == "pane-list.json":
        return lambda _: recording.panes()
    if file.name.startswith("process-info."):
        pane = file.name.split(".")[1].replace("_", ":")
        return lambda _: recording.processes(pane)
    return reading_of_session_file(recording, file)


def reading_of_session_file(recording: Recording, file: Path) -> Callable[[bytes], Any]:
    if file.parent.name == "subagent-activity":
        return lambda content: activity.parse(content, file.stem)
    if file.parent.name == "subagent-scripts":
        return lambda content: (script.parse(content, str(file), recording.resolve), script.run_of(content))
    if file.parent.name == "worktree-runs":
        return parse_worktree
    if LAUNCHER in file.name:
        return lambda _: recording.disk.transcript()
    if file.suffix == ".jsonl":
        return lambda _: read_tail(str(file))
    return lambda _: file.exists()


def test_the_recordings_hold_every_kind_of_file() -> None:
    names = {path.name for path in RECORDED.rglob("*")}
    assert {
        "subagent-activity",
        "subagent-scripts",
        "worktree-runs",
        "registry.json",
        "pane-list.json",
    } <= names
    assert any(name.endswith(".exit") for name in names)
