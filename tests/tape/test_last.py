"""What every launcher's last look reported, quickly, however many runs it has had."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from recovery.desk import Desk, stranded
from recovery.given import FILES, LAUNCHER, RUN, WAITING
from tape.taping import Taped

from strawboss.tape.last import last_look, last_looks
from strawboss.tape.shelf import LAST


@pytest.fixture
def taped(tmp_path: Path) -> Taped:
    return Taped(tmp_path / "tapes", stranded())


def test_it_is_what_the_last_look_reported(taped: Taped) -> None:
    for _ in range(5):
        look = taped.look()
        last = last_look(taped.session)
        assert last is not None
        assert (tuple(last.runs), last.launcher) == (look.runs, taped.desk.launcher)


def test_a_quiet_look_is_a_look_too(taped: Taped) -> None:
    taped.looks(5)
    for file in taped.session.iterdir():
        os.utime(file, (0, 0))
    taped.look()
    last = last_look(taped.session)
    assert last is not None
    assert abs(last.looked_at - time.time()) < 60


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"launcher": 3, "runs": []}', b'{"runs": []}'])
def test_what_cannot_be_understood_is_none(taped: Taped, content: bytes) -> None:
    taped.look()
    (taped.session / LAST).write_bytes(content)
    assert last_look(taped.session) is None
    assert list(last_looks(taped.shelf)) == []


def test_without_tapes_there_are_none(tmp_path: Path) -> None:
    assert list(last_looks(tmp_path / "none")) == []


def test_fifty_launchers_with_a_thousand_old_runs_each_are_read_at_once(tmp_path: Path) -> None:
    runs = {f"{number:08x}": WAITING for number in range(1000)}
    taped = Taped(tmp_path / "tapes", Desk(runs=runs, files=dict.fromkeys(runs, FILES)))
    taped.looks(2)
    for number in range(49):
        copy = taped.shelf / f"launcher-{number}"
        copy.mkdir()
        for file in taped.session.iterdir():
            os.link(file, copy / file.name)
    fastest = min(_seconds_to_read(taped.shelf) for _ in range(3))
    assert fastest < 0.3


def _seconds_to_read(shelf: Path) -> float:
    before = time.process_time()
    assert sum(len(last.runs) for last in last_looks(shelf)) == 50_000
    return time.process_time() - before


def test_a_name_that_is_no_utf_8_is_read_as_it_was(tmp_path: Path) -> None:
    desk = stranded(launcher=replace(LAUNCHER, name="half \ud800 a pair"))
    taped = Taped(tmp_path / "tapes", desk)
    taped.look()
    last = last_look(taped.session)
    assert last is not None
    assert last.launcher == desk.launcher
    assert taped.complaints == []


def test_settled_runs_are_counted_at_once_and_told_when_asked_for(tmp_path: Path) -> None:
    desk = Desk(
        runs={RUN: WAITING, "b2b2b2b2": WAITING}, files={RUN: FILES, "b2b2b2b2": replace(FILES, ended=True)}
    )
    taped = Taped(tmp_path / "tapes", desk)
    look = taped.look()
    last = last_look(taped.session)
    assert last is not None
    assert ([one.run for one in last.runs.open], last.runs.settled, len(last.runs)) == ([RUN], 1, 2)
    assert sorted(last.runs, key=str) == sorted(look.runs, key=str)


def test_settled_runs_that_cannot_be_read_are_none(taped: Taped) -> None:
    taped.look()
    file = taped.session / LAST
    file.write_bytes(file.read_bytes().partition(b"\n")[0] + b"\n[{")
    last = last_look(taped.session)
    assert last is not None
    assert list(last.runs) == list(last.runs.open)
