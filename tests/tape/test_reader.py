"""A tape is read as far as it is whole, while it is written too, and another version's as far as it is understood."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from recovery.desk import restored, stranded
from recovery.given import RUN
from tape.taping import Taped

from strawboss.recovery.verdict import Unknown
from strawboss.tape.look_interface import NotARecordingError
from strawboss.tape.reader import read_tape
from strawboss.tape.taped_look import NOT_ASKED, TapedLook


@pytest.fixture
def taped(tmp_path: Path) -> Taped:
    made = Taped(tmp_path / "tapes", restored())
    made.looks(6)
    return made


def same(one: TapedLook) -> Any:
    return (one.clock, one.asked, one.answers, one.before, one.reports, one.ended)


def test_torn_at_any_byte_it_has_the_looks_that_were_whole(taped: Taped) -> None:
    [file] = taped.segments()
    content = file.read_bytes()
    whole = [same(look) for look in taped.read()]
    counts = set()
    for length in range(len(content)):
        file.write_bytes(content[:length])
        looks = taped.read()
        ended = [same(look) for look in looks if look.ended]
        assert ended == whole[: len(ended)]
        assert all(look.ended for look in looks[:-1])
        counts.add(len(ended))
    assert counts == set(range(len(whole)))


NO_TIMES = (b"1e300, 1", b"1, 1e300", b"-1, 1", b"NaN, 1", b"1, Infinity", b"1, 1" + b"0" * 400)


@pytest.mark.parametrize(
    "junk",
    [
        *(b"", b"\0" * 40, b"{}", b'{"at": 3}', b'{"answers": 3}', b"[1]", b'"x"', b"nul", b"[" * 9999),
        *(b'{"at": [%b], "asked": [0, []], "runs": {}}' % time for time in NO_TIMES),
        *(b"9" * 20, b"-" + b"9" * 20, b"9" * 400),
    ],
)
def test_behind_a_line_that_is_no_record_nothing_is_read(taped: Taped, junk: bytes) -> None:
    [file] = taped.segments()
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines[:2], junk + b"\n", *lines[2:]]))
    assert len([look for look in taped.read() if look.ended]) == 1


@pytest.mark.parametrize(
    "content", [b"\n", b"{}\n", b"[]\n", b"3\n", b"junk\n", b'{"format": 1}\n', b'{"format": 2}\n']
)
def test_what_does_not_begin_as_a_tape_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "000001.jsonl").write_bytes(content)
    with pytest.raises(NotARecordingError) as refused:
        list(read_tape(tmp_path / "000001.jsonl"))
    assert "\n" not in str(refused.value)


def test_an_empty_segment_is_one_that_has_just_been_begun(tmp_path: Path) -> None:
    (tmp_path / "000001.jsonl").write_bytes(b'{"format": 1, "str')
    assert list(read_tape(tmp_path / "000001.jsonl")) == []


def test_a_segment_that_is_gone_meanwhile_is_left_out(taped: Taped) -> None:
    taped.restart()
    taped.look()
    taped.segments()[0].write_bytes(b"junk\n")
    assert [look.is_first for look in taped.read()] == [True]


def test_a_look_after_two_different_answers_to_one_question_is_as_it_was(tmp_path: Path) -> None:
    made = Taped(tmp_path / "tapes", restored())
    made.looks(2)
    rescued, after = made.read()[-1], made.look() and made.read()[-1]
    panes = [
        answer
        for spoken, answer in zip(rescued.asked, rescued.answers, strict=True)
        if spoken == ["ListPanes"]
    ]
    assert len(panes[0]) == 2
    assert len(panes[-1]) == 1
    assert len(rescued.known("ListPanes")) == 2  # before anything was done
    assert after.known("ListPanes") == NOT_ASKED


def rewritten(taped: Taped, change: Any) -> list[TapedLook]:
    [file] = taped.segments()
    header, *rest = file.read_bytes().splitlines(keepends=True)
    begins = json.loads(header)
    change(begins)
    file.write_bytes(json.dumps(begins).encode() + b"\n" + b"".join(rest))
    return taped.read()


def test_a_memory_of_another_version_is_unknown_and_the_looks_are_there(taped: Taped) -> None:
    looks = rewritten(taped, lambda begins: begins.update(memory={"runs": 3}))
    memory = looks[0].segment.memory
    assert isinstance(memory, Unknown)
    assert "another version" in memory.why
    assert len(looks) == 6


def test_members_that_a_newer_version_writes_are_left_out(taped: Taped) -> None:
    looks = rewritten(taped, lambda begins: begins["launcher"].update(mood="sunny"))
    assert looks[0].segment.launcher == taped.desk.launcher


def test_an_answer_that_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    made = Taped(tmp_path / "tapes", stranded())
    made.look()
    [file] = made.segments()
    file.write_bytes(file.read_bytes().replace(b'"auto_exit":', b'"auto_exiT":'))
    script = made.read()[0].known("ReadRun", run=RUN).script
    assert isinstance(script, Unknown)
    assert "cannot be read" in script.why


def test_what_was_not_asked_for_is_unknown(taped: Taped) -> None:
    assert taped.read()[0].known("ReadTail", session_file="/no") == Unknown("the look had no need to ask")
