from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs.written import header, key, message, result, text

from strawboss.runs.records import ATTEMPTS, pieces

BLOCKS = message(
    "assistant", content=[{"type": "text", "text": 'say "hi"'}, {"type": "toolCall", "id": "c", "name": "b"}]
)
FIRST, SECOND = text(BLOCKS).rstrip(), text(result()).rstrip()


def whole(line: bytes) -> list[object]:
    return [json.loads(piece.content) for piece in pieces(line) if piece.whole]


def fragments(line: bytes) -> list[bytes]:
    return [piece.content for piece in pieces(line) if not piece.whole]


def test_two_whole_records_on_one_line_are_both_found() -> None:
    assert whole(FIRST + SECOND) == [json.loads(FIRST), json.loads(SECOND)]
    assert fragments(FIRST + SECOND) == []


@given(st.integers(1, len(FIRST) - 1))
def test_a_record_glued_to_one_torn_anywhere_is_found_and_the_torn_one_is_a_fragment(cut: int) -> None:
    assert whole(FIRST[:cut] + SECOND) == [json.loads(SECOND)]
    assert fragments(FIRST[:cut] + SECOND) == [FIRST[:cut].strip()]


def test_a_block_of_a_torn_record_is_no_record() -> None:
    assert whole(FIRST[:-20]) == []


def test_zero_bytes_before_a_record_are_a_fragment_of_their_own() -> None:
    assert [piece.whole for piece in pieces(b"\0" * 4096 + SECOND)] == [False, True]


def test_a_session_header_is_a_record() -> None:
    assert whole(b"\0" + text(header())) == [header()]


def test_bytes_that_are_no_utf8_and_half_characters_read_as_question_marks() -> None:
    record = message("user", content="X")
    bad = text(record).rstrip().replace(b'"X"', b'"\xff"')
    assert whole(bad)[0]["message"]["content"] == "\ufffd"
    half = text(record).rstrip().replace(b'"X"', b'"\\ud83d"')
    assert whole(half)[0]["message"]["content"] == "?"


@pytest.mark.parametrize("constant", [b"NaN", b"Infinity", b"-Infinity"])
def test_numbers_that_are_no_json_are_no_record(constant: bytes) -> None:
    assert whole(text(key(seen="a", at=0)).rstrip().replace(b'"at":0', b'"at":' + constant)) == []


def test_a_line_of_many_torn_records_is_given_up_after_some() -> None:
    assert whole(b'{"type":"' * (ATTEMPTS + 1) + SECOND) == []


@given(
    st.binary(max_size=300)
    | st.sampled_from([b"[" * 100_000, b'{"type":"x","a":' * 20_000, b'{"type":"' * 20_000])
)
def test_any_bytes_raise_nothing_and_nothing_of_them_is_lost(line: bytes) -> None:
    found = list(pieces(line))
    assert bool(found) == bool(line.decode("utf-8", "replace").strip())
