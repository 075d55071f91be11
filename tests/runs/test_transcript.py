from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs.written import CHILD, SESSION, header, key, message, result, text

from strawboss.recovery.evidence import Transcript
from strawboss.recovery.verdict import Unknown
from strawboss.runs.transcript import TranscriptReader

OTHER = "/s/other.jsonl"
START = text(header(), message("user", content="go"), result(), message("assistant", content=[]))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "launcher.jsonl").write_bytes(START)
    return tmp_path / "launcher.jsonl"


@pytest.fixture
def reader(path: Path) -> TranscriptReader:
    return TranscriptReader(str(path), str, SESSION)


def append(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)


def read(path: Path, content: bytes) -> Transcript | Unknown:
    path.write_bytes(content)
    return TranscriptReader(str(path), str).read()


def test_the_file_is_read_and_later_entries_are_added(path: Path, reader: TranscriptReader) -> None:
    assert reader.read() == Transcript(results=frozenset({CHILD}), results_at={CHILD: 1})
    append(path, text(key(nudged="a1"), result(OTHER)))
    found = reader.read()
    assert found.results == {CHILD, OTHER}
    assert [each.run for each in found.keys] == ["a1"]


def test_while_it_cannot_be_told_which_file_a_result_names_nothing_is_known_and_then_all_of_it_once(
    path: Path,
) -> None:
    """A path that is not resolved would compare as another file, and its run would pass for one that has not reported."""
    append(path, text(key(nudged="a1"), result(OTHER), key(nudged="b1")))
    broken = [OTHER, OTHER]

    def resolve(file: str) -> str:
        if file in broken:
            broken.remove(file)
            raise PermissionError(13, "Permission denied")
        return file

    reader = TranscriptReader(str(path), resolve, SESSION)
    for _ in range(2):
        assert reader.read() == Unknown("the launcher's session file cannot be read: permission denied")
    found = reader.read()
    assert isinstance(found, Transcript)
    assert found.results == {CHILD, OTHER}
    assert [each.run for each in found.keys] == ["a1", "b1"]


def test_an_unchanged_file_says_the_same_again(reader: TranscriptReader) -> None:
    assert reader.read() == reader.read()


def test_a_later_look_reads_new_bytes_only(path: Path, reader: TranscriptReader) -> None:
    append(path, text(message("user", content="x" * 2000)))
    reader.read()
    with path.open("r+b") as file:  # spoilt far behind the place reached: seen only by who reads it again
        file.write(START.replace(CHILD.encode(), b"?" * len(CHILD)))
    append(path, text(result(OTHER)))
    assert reader.read().results == {CHILD, OTHER}


def test_a_half_written_key_is_torn_at_this_look_and_read_when_it_is_whole(
    path: Path, reader: TranscriptReader
) -> None:
    line = text(key(nudged="a1"))
    append(path, line[:50])
    assert reader.read().torn_keys
    append(path, line[50:])
    found = reader.read()
    assert (found.torn_keys, [each.key for each in found.keys]) == (frozenset(), ["nudged"])


def test_a_whole_record_without_its_newline_counts_once(path: Path, reader: TranscriptReader) -> None:
    append(path, text(key(nudged="a1"))[:-1])
    assert len(reader.read().keys) == 1
    append(path, b"\n")
    assert len(reader.read().keys) == 1


@given(data=st.data())
def test_read_in_any_portions_it_says_what_the_whole_says(
    tmp_path_factory: pytest.TempPathFactory, data
) -> None:
    path = tmp_path_factory.mktemp("portions") / "launcher.jsonl"
    whole = (
        START
        + text(key(seen="a1", terminal="t"), result(OTHER), key(nudged="a1"))
        + b"junk\n"
        + text(key(lost="b2"))
    )
    expected = read(path, whole)
    path.write_bytes(whole[: len(text(header()))])
    reader = TranscriptReader(str(path), str)
    ends = data.draw(st.lists(st.integers(len(text(header())), len(whole)), max_size=6))
    for end in (*sorted(ends), len(whole)):
        append(path, whole[path.stat().st_size : end])
        found = reader.read()
    assert found == expected


def test_a_file_cut_shorter_is_read_from_its_beginning(path: Path, reader: TranscriptReader) -> None:
    append(path, text(result(OTHER)))
    reader.read()
    os.truncate(path, len(START))
    assert reader.read().results == {CHILD}


def test_a_replaced_file_is_read_from_its_beginning(path: Path, reader: TranscriptReader) -> None:
    reader.read()
    path.with_suffix(".new").write_bytes(
        START.replace(CHILD.encode(), OTHER.encode()) + text(key(seen="a1")) * 20
    )
    path.with_suffix(".new").replace(path)
    found = reader.read()
    assert (found.results, len(found.keys)) == ({OTHER}, 20)


def test_a_file_rewritten_in_place_is_read_from_its_beginning(path: Path, reader: TranscriptReader) -> None:
    reader.read()
    path.write_bytes(text(header(), *(result(f"/s/{n}.jsonl") for n in range(20))))
    assert reader.read().results == {f"/s/{n}.jsonl" for n in range(20)}


def test_a_file_that_was_unknown_is_read_once_it_is_a_session(path: Path, reader: TranscriptReader) -> None:
    path.write_bytes(b"")
    assert isinstance(reader.read(), Unknown)
    path.write_bytes(START)
    assert reader.read().results == {CHILD}


def test_a_file_that_is_not_there_yet_is_unknown(tmp_path: Path) -> None:
    assert TranscriptReader(str(tmp_path / "x"), str).read() == Unknown(
        "the launcher's session file is not there yet"
    )


def test_the_file_of_another_session_is_unknown(path: Path) -> None:
    assert isinstance(TranscriptReader(str(path), str, "01a23392").read(), Unknown)


def test_a_fifo_a_folder_and_a_path_no_file_can_have_are_unknown(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for name in ("fifo", ".", "nul\0byte"):
        assert isinstance(TranscriptReader(f"{tmp_path}/{name}", str).read(), Unknown)


def test_a_linked_session_file_is_followed(path: Path) -> None:
    link = path.with_name("link.jsonl")
    link.symlink_to(path)
    assert TranscriptReader(str(link), str).read().results == {CHILD}


def test_r47_zero_bytes_in_the_middle_are_skipped_and_reading_goes_on(path: Path) -> None:
    assert read(path, START + b"\0" * 5000 + text(result(OTHER))).results == {CHILD, OTHER}
    assert read(path, START + b"\0" * 5000 + b"\n" + text(result(OTHER))).results == {CHILD, OTHER}


def test_r49_old_keys_and_a_new_key_after_a_torn_tail_are_all_read_back(
    path: Path, reader: TranscriptReader
) -> None:
    """The reader's side: whether or not the writer began a fresh line, no key is lost."""
    append(path, text(key(seen="a1")) + text(message("assistant", content=[]))[:60])
    reader.read()
    append(path, text(key(nudged="a1")))
    assert [each.key for each in reader.read().keys] == ["seen", "nudged"]
    fresh = START + text(key(seen="a1")) + text(key(closing="b2"))[:70] + b"\n" + text(key(nudged="a1"))
    found = read(path, fresh)
    assert ([each.key for each in found.keys], found.torn_keys) == (["seen", "nudged"], {"b2"})


def test_a_transcript_of_more_than_one_block_is_read_whole(path: Path) -> None:
    filler = text(message("assistant", content="x" * 70_000))
    assert read(path, START + filler * 12 + text(result(OTHER)) + filler).results == {CHILD, OTHER}


@given(st.binary(max_size=300))
def test_any_bytes_after_the_header_raise_nothing(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes
) -> None:
    assert isinstance(read(tmp_path_factory.mktemp("junk") / "x", text(header()) + junk), Transcript)


@given(data=st.data())
def test_a_recorded_transcript_cut_anywhere_says_no_more_than_the_whole(
    tmp_path_factory: pytest.TempPathFactory, moment: Callable[[str], Path], data
) -> None:
    whole = next(moment("restart/3").rglob(f"*_{SESSION}.jsonl")).read_bytes()
    path = tmp_path_factory.mktemp("cut") / "x"
    found, complete = read(path, whole[: data.draw(st.integers(0, len(whole)))]), read(path, whole)
    if isinstance(found, Transcript):
        assert found.results <= complete.results
        assert found.worktrees <= complete.worktrees
        assert not found.keys
