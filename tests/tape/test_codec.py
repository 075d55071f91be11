"""Every value of the core survives the tape, and another version's is read as far as it can be understood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tape.shapes import SHAPES, of

from strawboss.recovery.evidence import Activity, LaunchScript, Policy, RunFiles
from strawboss.recovery.memory import Memory, RunMemory
from strawboss.recovery.proof import Proof, Stage
from strawboss.recovery.verdict import Answer, Unknown, Verdict
from strawboss.tape.codec import NotReadableError, plain, typed
from strawboss.tape.lines import decode, encode


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_what_is_written_is_read_again(shape: Any, data: st.DataObject) -> None:
    value = data.draw(of(shape))
    assert typed(decode(encode(plain(value))), shape) == value


@dataclass(frozen=True)
class Older:
    run: str
    seen: int = 0


@dataclass(frozen=True)
class Newer:
    run: str
    heard: int = 7


def test_a_member_that_is_not_known_is_left_out_and_a_missing_one_has_its_default() -> None:
    assert typed(plain(Older("a", 3)), Newer) == Newer("a", 7)


def test_a_missing_member_without_a_default_is_refused_by_name() -> None:
    with pytest.raises(NotReadableError, match="Newer lacks a member"):
        typed({"heard": 1}, Newer)


def test_what_is_as_by_default_is_not_written() -> None:
    assert plain(Memory()) == {}
    assert plain(RunMemory(proofs={"nudge": Proof(Stage.FOUND_ONCE)})) == {
        "proofs": {"nudge": {"state": "found once"}}
    }


@pytest.mark.parametrize(
    "script",
    [None, Unknown("torn"), Unknown("", absent=True), LaunchScript("/p", "n", "/f", "w1:p1", True, False)],
)
def test_an_unknown_is_told_from_what_it_stands_for(script: Any) -> None:
    files = RunFiles(script, ended=Unknown("unreadable"), policy=Policy("public", persistent=False))
    assert typed(plain(files), RunFiles) == files


@pytest.mark.parametrize(
    ("value", "shape", "says"),
    [
        ({"phase": 1, "latest_event": "x", "updated_at": 1}, Activity, "Activity.phase: int instead of str"),
        ({"of": "a", "condition": "b", "answer": "maybe"}, Verdict, "no Answer is 'maybe'"),
        ([1], Verdict, "list instead of dict"),
        ({}, tuple[int, ...], "dict instead of list"),
        ([1], tuple[int, int], "1 members instead of 2"),
        ("x", bool | Unknown, "str instead of bool"),
        (None, bool | Unknown, "NoneType is none of 2 kinds"),
        ([[1]], dict[tuple[str, str], int], "1 members instead of 2"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(value: Any, shape: Any, says: str) -> None:
    with pytest.raises(NotReadableError) as refused:
        typed(value, shape)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_answers_are_read_as_what_they_are() -> None:
    assert typed("yes", Answer) is Answer.YES
    assert type(typed(3, float)) is float
