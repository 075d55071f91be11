"""A fixture of looks: what a look leaves out is as before, and what makes no sense is refused in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strawboss.recovery.evidence import Activity, Clock, Holders, Identity, Pane, Process
from strawboss.recovery.verdict import Unknown
from strawboss.tape.cases import EMPTY, ONCE, open_fixture
from strawboss.tape.look_interface import Evidence, NotARecordingError

LAUNCHER = {"id": "boss", "name": "", "file": "/s/boss.jsonl", "cwd": "/w"}
WAITING = {"phase": "waiting", "latest_event": "agent_end", "updated_at": 1}
PANE = {"id": "p", "terminal": "t", "agent": "pi", "status": "idle", "session": None}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("looks") / "R00.json"


def read(path: Path, *looks: Any, **members: Any) -> list[Evidence]:
    path.write_text(json.dumps({"launcher": LAUNCHER, "looks": looks, **members}))
    return open_fixture(path)


def test_the_first_look_starts_from_a_world_where_nothing_is_known(path: Path) -> None:
    [look] = read(path, {})
    assert (look.registry(), look.runs()) == (frozenset(), {})
    assert all(
        isinstance(one, Unknown) for one in (look.roster(), look.panes(), look.processes("p"), look.tail("f"))
    )


def test_a_look_says_only_what_is_new(path: Path) -> None:
    first, second = read(path, {"runs": {"a": WAITING}}, {"registry": ["a"]})
    assert first.runs() == second.runs() == {"a": Activity("waiting", "agent_end", 1)}
    assert (first.registry(), second.registry()) == (frozenset(), frozenset({"a"}))


def test_a_session_file_has_the_forks_that_are_written_down_and_else_none(path: Path) -> None:
    [look] = read(path, {"forks": {"/s/a": ["/s/b"], "/s/c": {"unknown": "torn"}}})
    assert [look.forks(file) for file in ("/s/a", "/s/c", "/s/d")] == [("/s/b",), Unknown("torn"), ()]


def test_nobody_holds_a_session_and_no_pid_is_a_process_unless_it_is_written_down(path: Path) -> None:
    holders = {"naming": [{"pid": 7, "name": "bash"}], "silent": [8]}
    [look] = read(path, {"holders": {"/s/a": holders}, "identities": {"7": {"pid": 7, "started": 1.5}}})
    assert look.holders("/s/a") == Holders((Process(7, "bash"),), silent=(8,))
    assert look.holders("/s/b") == Holders()
    assert [look.identify(pid) for pid in (7, 8)] == [Identity(7, 1.5), None]


def test_a_look_may_be_taken_several_times_and_its_clock_and_start_belong_to_the_first(path: Path) -> None:
    clock = {"wall": 1, "monotonic": 2}
    looks = read(path, {"times": 3, "clock": clock, "session_start": True})
    assert [look.clock for look in looks] == [Clock(1, 2), None, None]
    assert [look.session_start for look in looks] == [True, False, False]


def test_what_is_seen_once_a_key_was_written_is_that_looks_alone(path: Path) -> None:
    first, second = read(path, {"panes": [], "later": {"panes": [PANE]}}, {})
    assert (first.panes(), second.panes(), second.later) == ((), (), None)
    assert first.later is not None
    assert first.later.panes() == (Pane("p", "t", "pi", "idle", None),)


@pytest.mark.parametrize("member", ["registry", "runs", "transcript", "roster", "panes"])
def test_unknown_may_stand_for_any_evidence(path: Path, member: str) -> None:
    [look] = read(path, {member: {"unknown": "gone"}})
    assert getattr(look, member)() == Unknown("gone")


@pytest.mark.parametrize(
    ("looks", "complaint"),
    [
        ([], "no looks"),
        ([{"pane": []}], "look 1 has no member 'pane'"),
        ([{}, {"later": {"clock": {}}}], "look 2 has no member 'clock'"),
        ([{"times": 0}], "`times` is 0"),
        ([{"times": "two"}], "not a fixture"),
        ([{"runs": []}], "not a fixture"),
        ([{"panes": [{"id": "p"}]}], "not a fixture"),
        ([{"files": {"a": 3}}], "not a fixture"),
        ([{"later": 3}], "not a fixture"),
        ([3], "not a fixture"),
    ],
)
def test_nonsense_is_refused_in_one_line_that_says_where(
    path: Path, looks: list[Any], complaint: str
) -> None:
    with pytest.raises(NotARecordingError) as refused:
        read(path, *looks)
    assert complaint in str(refused.value)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"looks": []}', b"null"])
def test_a_file_that_is_no_fixture_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(NotARecordingError):
        open_fixture(path)


def test_a_missing_file_is_refused(path: Path) -> None:
    with pytest.raises(NotARecordingError, match="No such file"):
        open_fixture(path.with_name("missing.json"))


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.text(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.sampled_from(["unknown", "script", "a"]), inner, max_size=2),
    ),
    max_leaves=4,
)


@settings(deadline=None, max_examples=200)
@given(member=st.sampled_from([*EMPTY, *ONCE]), value=JSON)
def test_whatever_a_member_holds_it_is_read_or_refused(path: Path, member: str, value: Any) -> None:
    try:
        looks = read(path, {member: value})
    except NotARecordingError:
        return
    assert looks
