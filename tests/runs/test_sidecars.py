from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strawboss.recovery.evidence import Policy, Worktree
from strawboss.recovery.verdict import Unknown
from strawboss.runs.sidecars import parse_policy, parse_worktree, read_policy, read_worktree

POLICY = {
    "version": 2,
    "owner": "public",
    "tools": None,
    "deniedTools": [],
    "persistent": False,
    "logicalId": "a1",
}
MANIFEST = {"state": "running", "id": "a1", "branch": "b", "path": "/w", "paneId": "w2:p1", "version": 1}


@pytest.mark.parametrize("owner", ["public", "managed-worktree", "workflow", "somebody new", ""])
@pytest.mark.parametrize("persistent", [True, False])
def test_owner_and_persistence_are_kept_whatever_the_owner(owner: str, persistent: bool) -> None:
    written = json.dumps(POLICY | {"owner": owner, "persistent": persistent}).encode()
    assert parse_policy(written) == Policy(owner, persistent)


def test_version_1_knows_no_persistent_runs() -> None:
    assert parse_policy(b'{"version":1,"owner":"workflow","tools":[],"deniedTools":[]}') == Policy(
        "workflow", False
    )


@pytest.mark.parametrize(
    "members", [{"version": 3}, {"version": None}, {"owner": 5}, {"persistent": "no"}], ids=str
)
def test_a_policy_of_another_kind_is_unknown(members: dict[str, object]) -> None:
    assert isinstance(parse_policy(json.dumps(POLICY | members).encode()), Unknown)


def test_a_manifest_says_state_pane_path_and_branch() -> None:
    assert parse_worktree(json.dumps(MANIFEST, indent=2).encode()) == Worktree("running", "w2:p1", "/w", "b")


@pytest.mark.parametrize("key", ["state", "paneId", "path", "branch"])
@pytest.mark.parametrize("value", [None, 5, ["x"]])
def test_a_manifest_member_that_is_no_text_stays_empty(key: str, value: object) -> None:
    worktree = parse_worktree(json.dumps(MANIFEST | {key: value}).encode())
    assert isinstance(worktree, Worktree)
    assert "" in (worktree.state, worktree.pane, worktree.path, worktree.branch)


@pytest.mark.parametrize(("parse", "whole"), [(parse_policy, POLICY), (parse_worktree, MANIFEST)])
@given(data=st.data())
def test_a_sidecar_cut_anywhere_is_unknown(parse, whole, data: st.DataObject) -> None:
    written = json.dumps(whole, indent=2).encode()
    assert isinstance(parse(written[: data.draw(st.integers(0, len(written) - 1))]), Unknown)


@pytest.mark.parametrize("parse", [parse_policy, parse_worktree])
@given(
    content=st.binary(max_size=100)
    | st.sampled_from([b"[]", b"null", b"5", b"[" * 100_000, b'{"a":' * 100_000])
)
def test_any_bytes_are_unknown_and_raise_nothing(parse, content: bytes) -> None:
    assert isinstance(parse(content), Unknown)


@pytest.mark.parametrize("read", [read_policy, read_worktree])
def test_a_missing_sidecar_is_none_and_a_fifo_in_its_place_unknown(tmp_path: Path, read) -> None:
    assert read(str(tmp_path / "x")) is None
    os.mkfifo(tmp_path / "x")
    assert isinstance(read(str(tmp_path / "x")), Unknown)
