"""Whatever looks can be read from is opened by one door."""

from __future__ import annotations

from pathlib import Path

import pytest
from recovery.desk import restored
from tape.scenes import RECORDED, directory
from tape.taping import Taped

from strawboss.tape.door import open_looks
from strawboss.tape.look_interface import NotARecordingError


def test_a_moment_a_case_a_tape_and_one_of_its_segments(tmp_path: Path) -> None:
    taped = Taped(tmp_path / "tapes", restored())
    taped.looks(3)
    [segment] = taped.segments()
    case = RECORDED.parent / "reports" / "R01.json"
    assert len(list(open_looks(directory("restart/1")))) == 1
    assert len(list(open_looks(case))) == 5
    assert len(list(open_looks(taped.session))) == len(list(open_looks(segment))) == 3


def test_a_folder_of_moments_is_read_in_the_order_of_their_names_and_the_last_one_stands() -> None:
    labels = [look.label for look in open_looks(RECORDED / "restart")]
    moments = [f"restart/{path.name}" for path in sorted((RECORDED / "restart").iterdir())]
    assert labels == [*moments, moments[-1]]


def test_a_tape_is_known_by_what_is_in_it_and_not_by_its_name(tmp_path: Path) -> None:
    taped = Taped(tmp_path / "tapes", restored())
    taped.looks(2)
    named = taped.segments()[0].rename(tmp_path / "night.json")
    assert len(list(open_looks(named))) == 2


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"hello\n", "holds no looks; give a moment's directory or a folder of them, a tape"),
        (b'{"format":1}\n', "not a tape"),
        (b'{"format":99,"launcher":{}}\n', "it has format 99, and this version reads 1"),
        (b'{"format":1', "it holds no looks"),
    ],
)
def test_what_holds_no_looks_is_said_in_one_line(tmp_path: Path, content: bytes, says: str) -> None:
    file = tmp_path / "x"
    file.write_bytes(content)
    with pytest.raises(NotARecordingError) as refused:
        list(open_looks(file))
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_looks_of_another_launcher_are_refused(tmp_path: Path) -> None:
    taped = Taped(tmp_path / "tapes", restored())
    taped.look()
    with pytest.raises(NotARecordingError, match="no launcher nobody; it is told of boss"):
        open_looks(taped.session, "nobody")
