from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs.written import entry, key, message, text

from strawboss.recovery.evidence import Transcript
from strawboss.runs.torn_keys import ANY, KNOWN_KEYS, runs_in

RUN, LONGER, SIBLING, OTHER = "a1b2c3d4", "a1b2c3d4e5", "a1b2ffff", "0f238203"
KEY_START = b'{"type":"custom","customType":"straw-boss","data":{'


def line(record: dict) -> bytes:
    return text(record).rstrip()


def blocked(fragment: bytes, run: str, acted: frozenset[str] = frozenset()) -> bool:
    return Transcript(torn_keys=frozenset(runs_in(fragment, acted))).may_hold_torn_key_of(run)


@pytest.mark.parametrize("name", sorted({*KNOWN_KEYS} - {"seen"}))
@given(data=st.data())
def test_a_key_cut_anywhere_blocks_its_run(name: str, data: st.DataObject) -> None:
    whole = line(key(**{name: RUN}, terminal="t"))
    assert blocked(whole[: data.draw(st.integers(1, len(whole) - 1))], RUN)


@given(data=st.data())
def test_what_can_only_have_been_seen_blocks_nothing(data: st.DataObject) -> None:
    whole = line(key(seen=RUN, terminal="t"))
    cut = data.draw(st.integers(1, len(whole) - 1))
    assert blocked(whole[:cut], RUN) is (cut < len(KEY_START) + len('"s'))


@pytest.mark.parametrize(
    ("said", "runs"),
    [
        (b"", {ANY}),
        (b'"', {ANY}),
        (b'"nu', {ANY}),
        (b'"nudged"', {ANY}),
        (b'"nudged":', {ANY}),
        (b'"nudged":"', {ANY}),
        (b'"nudged":"a1b2', {"a1b2*"}),
        (b'"nudged":"a1b2c3d4"', {RUN}),
        (b'"lost":"a1b2c3d4","at":"2026', {RUN}),
        (b'"at":"2026-12-01","nudged":"a1', {ANY}),
        (b'"adopted":"a1b2c3d4"', {ANY}),
        (b'"warned":"a1b2c3d4","term', {RUN}),
        (b'"unnudged":"a1b2', {"a1b2*"}),
        (b'"s', set()),
        (b'"seen":"a1', set()),
    ],
    ids=str,
)
def test_how_much_of_a_key_can_be_made_out(said: bytes, runs: set[str]) -> None:
    assert runs_in(KEY_START + said, set()) == runs


def test_the_beginning_of_an_id_blocks_every_run_that_begins_so_and_a_whole_one_only_its_own() -> None:
    begun, whole = KEY_START + b'"nudged":"a1b2', KEY_START + b'"nudged":"a1b2c3d4"'
    assert [blocked(begun, run) for run in (RUN, LONGER, SIBLING, OTHER)] == [True, True, True, False]
    assert [blocked(whole, run) for run in (RUN, LONGER, SIBLING, OTHER)] == [True, False, False, False]


OURS = entry("custom_message", customType="straw-boss", content="x", details={"id": "x", "runs": [RUN, "b2"]})


@given(data=st.data())
def test_a_message_cut_anywhere_blocks_at_most_the_runs_acted_on_before(data: st.DataObject) -> None:
    whole = line(OURS)
    cut = data.draw(st.integers(1, len(whole) - 1))
    named = runs_in(whole[:cut], {RUN, "b2", OTHER})
    told_apart = cut > len('{"type":"custom')
    complete = b'"runs":["a1b2c3d4","b2"]' in whole[:cut]
    assert named == ({ANY} if not told_apart else {RUN, "b2"} if complete else {RUN, "b2", OTHER})


def test_a_key_without_its_beginning_counts_as_long_as_it_says_whose_it_is() -> None:
    assert runs_in(b"\0" * 30 + line(key(nudged=RUN))[20:], set()) == {RUN}
    assert runs_in(b'"customType":"straw-boss",', set()) == {ANY}


def test_each_of_several_torn_keys_on_a_line_counts() -> None:
    torn = KEY_START + b'"nudged":"a1b2'
    assert runs_in(torn + KEY_START + b'"lost":"0f2' + torn[:30], set()) == {"a1b2*", "0f2*", ANY}
    assert runs_in(torn + b"\0\0" + KEY_START + b'"seen"', set()) == {"a1b2*"}


@pytest.mark.parametrize(
    "record",
    [
        message("toolResult", content=[{"type": "text", "text": "x"}], details={"a": "straw-boss"}),
        entry("custom", customType="x", data={"nudged": "a1"}),
        entry("custom_message", customType="intercom_message", content="x"),
    ],
    ids=["message", "custom", "custom message"],
)
def test_what_is_surely_somebody_elses_blocks_nothing(record: dict) -> None:
    assert runs_in(line(record)[:-5], {RUN}) == set()


@given(st.binary(max_size=200) | st.text('{}":\0abcstraw-').map(str.encode))
def test_no_bytes_raise(fragment: bytes) -> None:
    runs_in(fragment, set())
