"""Any single file of a recorded story torn at any byte, emptied, removed or replaced by junk: no act that the whole
evidence would not also justify, and never an exception.

Every cut position of every file is tried. What a file says is read at each position, once for all moments in which it
is the same; the story is told once for each different thing it says (a look depends on nothing else of it). Of a file
that the story never opens only the absence is tried: its content cannot matter.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tape.scenes import LAUNCHER, RECORDED, STORIES, acts, directory, tell

from strawboss.recovery.evidence import Tail
from strawboss.recovery.settings import Settings
from strawboss.recovery.verdict import Unknown
from strawboss.runs import activity, script
from strawboss.runs.foreign_files import open_regular
from strawboss.runs.header import Header, read_header
from strawboss.runs.sidecars import parse_worktree
from strawboss.runs.tail import read_tail
from strawboss.tape.moment import Recording, RegistryFile, open_recording, read_json, read_roster
from strawboss.tape.play import Told, play

pytestmark = pytest.mark.slow

JUNK = (b"", b"\x00" * 64, b"[]", b"{}", b"null\n", b'{"version": 1}\n', b"\xff\xfe junk \x1b[2J\n" * 50)
ABSENT = None

MOMENTS = sorted({moment for moments in STORIES.values() for moment in moments})


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """A private copy of each moment, to be damaged one file at a time and put right again."""
    under = tmp_path_factory.mktemp("moments").resolve()
    return {moment: shutil.copytree(directory(moment), under / moment) for moment in MOMENTS}


def files_of(moment: str) -> list[str]:
    """Relative to the moment's directory."""
    root = directory(moment)
    found = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return sorted(str(path) for path in found if path.name != "note.txt")


@pytest.mark.parametrize("name", sorted({name for moment in MOMENTS for name in files_of(moment)}))
def test_no_damage_to_one_file_leads_to_an_act_of_its_own(name: str, copies: Mapping[str, Path]) -> None:
    for content, moments in moments_by_content(name).items():
        damages = different(copies[moments[0]], name, content)
        for moment in moments:
            copied, file = copies[moment], copies[moment] / name
            is_read = str(file) in opened_by_stories(moment, copied)
            for damage in damages if is_read else (ABSENT,):
                put(file, damage)
                assert told_acts(moment, copied) <= told_acts(moment, directory(moment)), (moment, damage)
            put(file, content)


def moments_by_content(name: str) -> dict[bytes, list[str]]:
    found: dict[bytes, list[str]] = defaultdict(list)
    for moment in MOMENTS:
        if name in files_of(moment):
            found[(directory(moment) / name).read_bytes()].append(moment)
    return found


def put(file: Path, content: bytes | None) -> None:
    if content is ABSENT:
        file.unlink()
    else:
        file.write_bytes(content)


def told_acts(moment: str, seen: Path) -> set[tuple[str, str, str]]:
    """(story, act, whom) of every story that the moment is part of, with that moment as it is in `seen`."""
    names = [name for name in STORIES if moment in STORIES[name]]
    if seen == directory(moment):
        return {(name, *act) for name in names for act in whole_acts(name)}
    return {(name, *act) for name in names for act in acts(story(STORIES[name], moment, seen))}


@cache
def whole_acts(name: str) -> set[tuple[str, str]]:
    return acts(tell([directory(moment) for moment in STORIES[name]]))


def story(moments: Sequence[str], damaged_moment: str, damaged: Path) -> list[Told]:
    opened = open_recording(damaged, LAUNCHER, "linux")
    looks = [opened if one == damaged_moment else undamaged(one) for one in moments]
    return play(looks, Settings())[0]


@cache
def undamaged(moment: str) -> Recording:
    return open_recording(directory(moment), LAUNCHER, "linux")


# -- what a file says ------------------------------------------------------------------------------------------------


def different(copied: Path, name: str, whole: bytes) -> list[bytes | None]:
    """One damage of that file for each different thing that it can say, and its absence."""
    file, says = copied / name, reading(copied, copied / name)
    found: dict[str, bytes] = {}
    for damage in damages(file, whole):
        found.setdefault(repr(says(damage)), damage)
    put(file, whole)
    return [ABSENT, *found.values()]


def damages(file: Path, whole: bytes) -> Iterator[bytes]:
    """Each of them in the file's place while it is looked at."""
    for junk in JUNK:
        file.write_bytes(junk)
        yield junk
    file.write_bytes(whole)
    for position in range(len(whole) - 1, -1, -1):
        os.truncate(file, position)
        yield whole[:position]


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
        return lambda _: (header_of(file), steps_of(file))
    return lambda _: file.exists()


def header_of(file: Path) -> Header | Unknown:
    with open_regular(str(file)) as opened:
        return read_header(opened)


def steps_of(file: Path) -> Tail | Unknown:
    """Without size and time: they are compared between looks alone, and every cut changes both."""
    tail = read_tail(str(file))
    return tail if isinstance(tail, Unknown) else replace(tail, size=0, changed_at=0.0)


# -- what a story opens ----------------------------------------------------------------------------------------------

_noted: list[set[str]] = []


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if _noted and event == "open":
        _noted[-1].add(str(arguments[0]))


sys.addaudithook(_note)  # the interpreter tells it of every file that anything opens


@contextmanager
def noting_opened() -> Iterator[set[str]]:
    _noted.append(set())
    try:
        yield _noted[-1]
    finally:
        _noted.pop()


def opened_by_stories(moment: str, copied: Path) -> set[str]:
    with noting_opened() as opened:
        told_acts(moment, copied)
    return opened


def test_what_a_story_opens_is_what_its_looks_depend_on(copies: Mapping[str, Path]) -> None:
    opened = {Path(path).name for path in opened_by_stories("restart/3", copies["restart/3"])}
    assert {"registry.json", "pane-list.json", "intercom.json", "beta-a213437c.sh", "a213437c.json"} <= opened
    assert any("a213437c" in name for name in opened if name.endswith(".jsonl"))  # was its last turn cut?
    assert "process-info.w1_p1.json" not in opened  # the launcher's own pane
    assert not any(name.endswith(".md") for name in opened)  # what a child was told to do


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
