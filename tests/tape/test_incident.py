"""An incident decides what its tape decided and has nothing of its names, however they were made up."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recovery.desk import Desk, restored, stranded
from recovery.given import FILE, LAUNCHER, RUN, now
from tape.scenes import RECORDED
from tape.taping import Taped

from strawboss.recovery.evidence import Pane, Process, Worktree
from strawboss.tape.door import open_looks
from strawboss.tape.incident import NotTheSameError, make_incident, since
from strawboss.tape.play import play
from strawboss.tape.reader import read_lines, whole_lines
from strawboss.tape.redact import RULES, own_sentences
from strawboss.tape.save import SavedTape
from strawboss.tape.standin import WORD
from strawboss.tape.taped_look import TapedLook

KEY = b"a key"
OTHER_RUN = "a1b2c3d5"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("incidents")


def reread(content: bytes) -> list[TapedLook]:
    return list(read_lines(Path("incident"), whole_lines(content)))


def decided(looks: list[TapedLook]) -> list[Any]:
    return [
        (
            look.ended,
            [one[0] for one in look.asked],
            [(one.machine, one.state, one.stranded) for one in look.reported],
        )
        for look in looks
    ]


# -- the same decisions ----------------------------------------------------------------------------------------

CASES = sorted((RECORDED.parent / "reports").glob("*.json"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_every_reported_case_decides_the_same_with_stand_ins(case: Path) -> None:
    saved = SavedTape()
    play(open_looks(case), record=saved.record)
    looks = reread(saved.content())
    made = reread(make_incident(looks, KEY).content)
    assert decided(made) == decided(looks)
    assert all(not told.differs for told in play(made)[0])


def test_times_from_look_to_look_are_kept(directory: Path) -> None:
    taped = Taped(directory / "times", restored())
    taped.looks(4)
    made = reread(make_incident(taped.read(), KEY).content)
    assert [look.clock.wall - made[0].clock.wall for look in made] == [0, 15, 30, 45]
    assert made[0].label == "2000-01-01T00:00:00Z"


@pytest.mark.parametrize("looks", range(1, 6))
def test_a_part_of_a_tape_begins_with_what_was_remembered(directory: Path, looks: int) -> None:
    taped = Taped(directory / f"part{looks}", stranded())
    taped.looks(6)
    part = since(taped.read(), now(7 - looks).wall)
    assert len(part) == looks
    made = reread(make_incident(part, KEY).content)
    assert decided(made) == decided(taped.read())[-looks:]


def test_a_look_in_which_the_process_ended_is_one_there_too(directory: Path) -> None:
    taped = Taped(directory / "ended", stranded())
    taped.looks(2)
    cut_off = replace(taped.read()[-1], ended=False)
    cut_off = replace(cut_off, answers=cut_off.answers[:-1])
    made = reread(make_incident([taped.read()[0], cut_off], KEY).content)
    assert [look.ended for look in made] == [True, False]


def test_what_decides_otherwise_is_not_written_and_it_says_where(directory: Path) -> None:
    taped = Taped(directory / "otherwise", stranded())
    taped.looks(2)
    first, second = taped.read()
    reports = {RUN: {**first.reports[RUN], "state": "watching"}}
    with pytest.raises(NotTheSameError) as refused:
        make_incident([replace(first, reports=reports), second], KEY)
    assert "look 1 (2026-01-01T00:00:15Z) decides otherwise by this version than by strawboss" in str(
        refused.value
    )


def test_what_stand_ins_make_decide_otherwise_is_not_written_and_it_says_where(directory: Path) -> None:
    taped = Taped(directory / "stand-ins", stranded())
    taped.looks(2)
    with (
        mock.patch.dict(RULES, {Pane: {}}),  # as if it did not matter what herdr says of a pane
        pytest.raises(NotTheSameError) as refused,
    ):
        make_incident(taped.read(), KEY)
    assert "look 1 (2026-01-01T00:00:15Z) decides otherwise in the incident: then " in str(refused.value)


# -- nothing of the names ----------------------------------------------------------------------------------------

HOSTILE = (
    "pi",
    "pipi",
    'it\'s "quoted"',
    "two\nlines\r\n",
    "naïve 🎉 名前",
    "alphabet",
    "alphabet soup",
    "/etc/passwd",
    f"run {RUN}",
    "\x1b[2Jclear",
    "a" * 300,
    "\ud800 half a pair",
)
NAMES = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=()), max_size=30))


def world(make: Any, name: str, home: str) -> Desk:
    """A story in which every name is that one, and everything lies under that home."""
    file, script = f"{home}{FILE}", f"{home}/s/artifacts/boss/subagent-scripts/zeta-{RUN}.sh"
    launcher = replace(LAUNCHER, name=name, file=f"{home}/s/boss.jsonl", cwd=f"{home}/{name}")
    desk: Desk = make(launcher=launcher)
    files = desk.files[RUN]
    launch = replace(files.script, name=name, session_file=file, path=script)
    desk.files = {RUN: replace(files, script=launch)}
    desk.tails = dict(zip([file], desk.tails.values(), strict=True))
    desk.panes = tuple(_pane(one, home) for one in desk.panes)
    desk.roster = tuple(replace(one, name=name, status=f"{one.status} · {name}") for one in desk.roster)
    desk.processes = {
        pane: tuple(_process(one, script, name) for one in processes)
        for pane, processes in desk.processes.items()
    }
    return desk


def _pane(pane: Pane, home: str) -> Pane:
    return replace(pane, session=f"{home}{pane.session}" if pane.session else None)


def _process(process: Process, script: str, name: str) -> Process:
    argv = process.argv or ()
    if any(one.endswith(".sh") for one in argv):
        return replace(process, argv=("bash", script, name))
    return replace(process, argv=argv)


# A name may be a word of ours; that it is in the file then tells nothing.
OWN_WORDS = {word for sentence in own_sentences() for word in WORD.findall(sentence)}


def secrets(*names: str) -> set[str]:
    """Their words; one of three letters may come up by chance, or within another."""
    return {word for name in names for word in WORD.findall(name) if len(word) > 3}


@pytest.mark.parametrize("make", [stranded, restored])
@settings(max_examples=60)
@given(
    name=NAMES,
    home=st.sampled_from(["/home/pi", "/home/alphabet", "/Users/Ünï Ço", "/home/it's", "/home/a1b2c3d4"]),
)
def test_nothing_of_a_hostile_name_is_in_it_and_it_decides_the_same(
    directory: Path, make: Any, name: str, home: str
) -> None:
    saved = Taped(directory / "hostile", world(make, name, home))
    for file in saved.session.glob("*"):
        file.unlink()
    saved.looks(4)
    looks = saved.read()
    assert saved.complaints == []
    assert "sent" in str(decided(looks)) or "resumed" in str(decided(looks))
    content = make_incident(looks, KEY).content
    assert decided(reread(content)) == decided(looks)
    said = all_texts(content)
    assert not (secrets(name, home, RUN) - OWN_WORDS) & {*WORD.findall(said)}
    assert not any(secret in said for secret in secrets(name, home, RUN) if len(secret) > 12)
    assert "/pi/" not in said
    assert "home" not in said


def all_texts(content: bytes) -> str:
    """Every text in the file as it reads, whatever its escapes."""
    texts: list[str] = []

    def take(value: Any) -> None:
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, dict):
            for key, one in value.items():
                texts.append(key)
                take(one)
        elif isinstance(value, list):
            for one in value:
                take(one)

    for line in content.splitlines():
        take(json.loads(line))
    return "\0".join(texts)


def test_worktrees_branches_and_questions_have_stand_ins(directory: Path) -> None:
    desk = restored()
    desk.files = {
        RUN: replace(desk.files[RUN], worktree=Worktree("running", "w1:p3", "/secret/place", "secret-branch"))
    }
    taped = Taped(directory / "worktree", desk)
    taped.looks(5)
    content = make_incident(taped.read(), KEY).content
    assert b"secret" not in content
    assert re.search(rb'"state":"running"', content)


def test_runs_whose_ids_begin_alike_stay_apart_and_in_order(directory: Path) -> None:
    desk = stranded()
    desk.runs = {RUN: desk.runs[RUN], OTHER_RUN: desk.runs[RUN]}
    desk.files = {RUN: desk.files[RUN], OTHER_RUN: desk.files[RUN]}
    taped = Taped(directory / "alike", desk)
    taped.looks(3)
    made = reread(make_incident(taped.read(), KEY).content)
    [one, other] = sorted(report.run for report in made[-1].reported)
    assert one[:7] == other[:7]
    assert not {one, other} & {RUN, OTHER_RUN}
