from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs.written import SESSION, chain, entry, header, message, text

from strawboss.recovery.evidence import Tail
from strawboss.recovery.verdict import Unknown
from strawboss.runs import tail
from strawboss.runs.tail import read_tail

USER = message("user", None, "u", content="go")
CALL = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "sleep 300"}}
ASKED = message("assistant", "u", "a", content=[CALL], stopReason="toolUse")
ANSWER = message("toolResult", "a", "r", toolCallId="c1", toolName="bash", content=[])
DONE = message("assistant", "r", "d", content=[], stopReason="stop")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tail") / "session.jsonl"


def read(path: Path, *parts: bytes) -> Tail | Unknown:
    path.write_bytes(text(header()) + b"".join(parts))
    return read_tail(str(path))


def ids(found: Tail | Unknown) -> list[str]:
    assert isinstance(found, Tail), found
    return [each.id for each in found.entries]


def test_a_small_file_is_read_whole_oldest_first(path: Path) -> None:
    found = read(path, text(USER, ASKED, ANSWER, DONE))
    assert ids(found) == ["u", "a", "r", "d"]
    assert (found.session_id, found.torn) == (SESSION, False)


def test_a_session_without_entries_has_an_empty_tail(path: Path) -> None:
    found = read(path)
    assert isinstance(found, Tail)
    assert (found.session_id, found.entries, found.torn) == (SESSION, (), False)


def test_its_size_and_the_time_of_its_last_change_tell_that_it_grows(path: Path) -> None:
    found = read(path, text(USER))
    assert isinstance(found, Tail)
    assert (found.size, found.changed_at) == (path.stat().st_size, path.stat().st_mtime)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "FIRST_PIECE", 16)
    monkeypatch.setattr(tail, "LARGEST_PIECE", 4096)
    monkeypatch.setattr(tail, "LIMIT", 64 * 1024)


@pytest.mark.usefixtures("small")
def test_it_grows_until_it_holds_the_last_assistant_message_and_stops_there(path: Path) -> None:
    early = text(*chain(*(message("user", content="x" * 500) for _ in range(20))))
    assert ids(read(path, early, text(USER, ASKED, ANSWER)))[-2:] == ["a", "r"]
    assert len(ids(read(path, early, text(USER, ASKED, ANSWER)))) < 10


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("first", range(1, 40))
def test_wherever_the_pieces_meet_every_line_is_read_once(
    path: Path, monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    monkeypatch.setattr(tail, "FIRST_PIECE", first)
    assert ids(read(path, text(USER), b"\n\n", text(ANSWER, entry("custom", "r", "x")))) == ["u", "r", "x"]


@pytest.mark.usefixtures("small")
def test_without_an_assistant_message_within_the_limit_it_is_unknown(path: Path) -> None:
    steps = chain(ASKED, *(message("toolResult", content="x" * 1000) for _ in range(100)))
    assert read(path, text(*steps)) == Unknown("its session file has no assistant message in its last 0 MiB")


@pytest.mark.usefixtures("small")
def test_a_line_too_long_to_be_held_is_unknown(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "LONGEST", 16 * 1024)
    long = message("toolResult", "a", "r", toolCallId="c1", content="x" * 30_000)
    assert read(path, text(USER, ASKED, long)) == Unknown("its session file has a line of more than 0 MiB")
    assert ids(read(path, text(USER), text(long), text(ASKED)))[-1] == "a"


def test_more_than_64_mib_after_the_last_assistant_message_are_read_on(path: Path) -> None:
    large = [message("toolResult", content="x" * 6_000_000) for _ in range(12)]
    found = read(path, text(*chain(USER, ASKED, *large)))
    assert [each.id for each in found.entries if each.role == "assistant"] == ["a"]


@pytest.mark.usefixtures("small")
def test_the_last_assistant_message_is_that_of_the_active_branch(path: Path) -> None:
    left = [message("assistant", "a", f"left{n}", content="y" * 400) for n in range(8)]
    found = ids(read(path, text(USER, ASKED, *left, ANSWER)))
    assert "a" in found


@pytest.mark.usefixtures("small")
def test_an_assistant_message_that_was_taken_back_is_not_the_last(path: Path) -> None:
    failed = message("assistant", "a", "f", content=[], stopReason="error", errorMessage="x" * 900)
    edit = entry("context_edit", "f", "e", targetId="f", replacement=None)
    other = text(message("user", None, content="x" * 5000))
    assert "a" in ids(read(path, text(USER, ASKED), other, text(failed, edit)))
    shown = entry("context_edit", "f", "e", targetId="f", replacement={"content": []})
    assert "a" not in ids(read(path, text(USER, ASKED), other, text(failed, shown)))


@pytest.mark.usefixtures("small")
def test_parents_that_go_round_in_a_circle_end_at_the_beginning_of_the_file(path: Path) -> None:
    ring = [message("user", "y", "x", content="1"), message("user", "x", "y", content="2")]
    assert ids(read(path, text(*ring))) == ["x", "y"]


@pytest.mark.usefixtures("small")
def test_a_parent_that_cannot_be_read_is_searched_to_the_beginning_of_the_file(path: Path) -> None:
    torn = text(message("user", "a", "lost", content="z"))[:-9] + b"\n"
    assert ids(read(path, text(USER, ASKED), torn, text(message("user", "lost", "v")))) == ["u", "a", "v"]


def test_a_last_line_without_newline_counts_when_it_is_whole(path: Path) -> None:
    assert ids(read(path, text(USER, ASKED)[:-1])) == ["u", "a"]


@given(st.integers(1, len(text(ASKED)) - 2))
def test_a_last_line_cut_anywhere_is_torn(path: Path, cut: int) -> None:
    found = read(path, text(USER), text(ASKED)[:cut])
    assert (ids(found), found.torn) == (["u"], True)


@pytest.mark.parametrize(
    "junk", [b"junk", b"\0" * 5000, b"{}", b"5", b"[]", b'{"type":"message","id":"x"}', b"\xff\xfe"]
)
def test_a_line_that_cannot_be_read_is_skipped_and_is_torn_only_at_the_end(path: Path, junk: bytes) -> None:
    inside = read(path, text(USER), junk + b"\n", text(ASKED))
    assert (ids(inside), inside.torn) == (["u", "a"], False)
    for end in (b"", b"\n", b"\n\n"):
        last = read(path, text(USER, ASKED), junk + end)
        assert (ids(last), last.torn) == (["u", "a"], True)


def test_records_glued_together_are_all_read(path: Path) -> None:
    assert ids(read(path, text(USER)[:-1] + text(ASKED)[:-1] + text(ANSWER))) == ["u", "a", "r"]
    torn_then_whole = read(path, text(USER, ASKED), text(ANSWER)[:60] + text(DONE))
    assert (ids(torn_then_whole), torn_then_whole.torn) == (["u", "a", "d"], False)
    whole_then_torn = read(path, text(USER), text(ASKED)[:-1] + text(ANSWER)[:60])
    assert (ids(whole_then_torn), whole_then_torn.torn) == (["u", "a"], True)


def test_a_record_with_half_a_character_is_read(path: Path) -> None:
    half = text(message("assistant", None, "h", content=[{"type": "text", "text": "X"}])).replace(
        b'"X"', b'"\\ud83d"'
    )
    assert ids(read(path, half)) == ["h"]


def test_r47_good_zero_bytes_good_and_stopped_reads_the_stop_last(path: Path) -> None:
    for zeros in (b"\0" * 4096, b"\0" * 4096 + b"\n"):
        found = read(path, text(USER, ASKED), zeros, text(ANSWER, DONE))
        assert (found.entries[-1].stop_reason, found.torn) == ("stop", False)


def test_r50_of_a_large_file_with_a_long_last_record_only_the_end_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """200 MB, last assistant record 3 MB: at most 8 MB read (the time is measured by scripts/bench)."""
    read_bytes = 0
    real = tail._read_at

    def counted(file, start: int, length: int) -> bytes:
        nonlocal read_bytes
        read_bytes += length
        return real(file, start, length)

    monkeypatch.setattr(tail, "_read_at", counted)
    large = tmp_path / "large.jsonl"
    long = message(
        "assistant",
        "u",
        "a",
        content=[CALL | {"arguments": {"content": "x" * 3_000_000}}],
        stopReason="toolUse",
    )
    with large.open("wb") as file:
        file.write(text(header()))
        file.truncate(200_000_000)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + text(USER, long))
    found = read_tail(str(large))
    assert found.entries[-1].calls == (("c1", "bash", ""),)
    assert read_bytes <= 8_000_000


def test_what_is_no_session_file_is_unknown(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "no-header").write_bytes(text(USER, ASKED))
    for name in ("missing", "fifo", "empty", "no-header", ".", "nul\0byte"):
        assert isinstance(read_tail(f"{tmp_path}/{name}"), Unknown)


def test_a_linked_session_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(text(header(), USER, ASKED))
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert ids(read_tail(str(tmp_path / "link"))) == ["u", "a"]


@given(st.binary(max_size=300) | st.sampled_from([b"[" * 100_000, b'{"type":"x","a":' * 20_000]))
def test_any_bytes_after_the_header_raise_nothing(path: Path, junk: bytes) -> None:
    assert isinstance(read(path, junk), Tail)


@given(data=st.data())
def test_a_recorded_session_cut_anywhere_is_a_shorter_tail_or_unknown(
    path: Path, moment: Callable[[str], Path], data
) -> None:
    whole = next(moment("restart/3").rglob("*_4f8d9873-*.jsonl")).read_bytes()
    path.write_bytes(whole)
    complete = ids(read_tail(str(path)))
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    found = read_tail(str(path))
    if isinstance(found, Tail):
        assert ids(found) == complete[: len(found.entries)]
        assert found.torn == (whole[cut - 1 : cut] != b"\n" and whole[cut : cut + 1] != b"\n")
