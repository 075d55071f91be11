from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs.conftest import FOLDER
from runs.written import header, message, settle, text

from strawboss.recovery.verdict import Unknown
from strawboss.runs import Disk
from strawboss.runs import forks as module
from strawboss.runs.forks import ForkFinder

FORK = "2026-12-01T22-00-00-000Z_01a23392-c4f6-76a6-87c2-4d480b13177c.jsonl"
OTHER_FORK = "2026-12-01T23-00-00-000Z_01a23393-c4f6-76a6-87c2-4d480b13177c.jsonl"
NESTED = "2026-12-01T22-00-00-000Z_a213437c-1a54df95-6a7903a4-264c.jsonl"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = tmp_path / "2026-12-01T21-47-46-949Z_a213437c-1a54df95-6a7903a4-264c.jsonl"
    path.write_bytes(text(header()))
    return path


def forked(session: Path, name: str = FORK, parent: object = None) -> Path:
    path = session.with_name(name)
    path.write_bytes(text(header("f0") | {"parentSession": parent or str(session)}, message("user")))
    return path


def of(session: Path) -> tuple[str, ...] | Unknown:
    return ForkFinder(Path, os.path.realpath).of(str(session))


def test_a_session_that_was_never_forked_has_no_fork(session: Path) -> None:
    session.with_name(FORK).write_bytes(text(header("f0"), message("user")))
    assert of(session) == ()


def test_every_file_in_the_folder_whose_header_names_it_as_the_parent_is_a_fork(session: Path) -> None:
    first, second = forked(session), forked(session, OTHER_FORK)
    forked(session, "x.jsonl", parent="/s/another.jsonl")
    assert of(session) == (str(first), str(second))


def test_a_subagents_file_is_no_fork_of_its_launchers(session: Path) -> None:
    forked(session, NESTED)
    assert of(session) == ()


def test_the_parent_is_compared_as_a_resolved_path(session: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    fork = forked(session, parent=f"{tmp_path}/link/../{tmp_path.name}/{session.name}")
    assert of(session) == (str(fork),)


@pytest.mark.parametrize(
    "content",
    [b"", b"\0" * 90, text(message("user")), text(header())[:40], text(header() | {"parentSession": 5})],
    ids=["empty", "hole", "no header", "torn", "odd parent"],
)
def test_what_pi_would_not_open_and_what_names_no_parent_is_no_fork(session: Path, content: bytes) -> None:
    session.with_name(FORK).write_bytes(content)
    assert of(session) == ()


def test_a_file_that_cannot_be_read_may_be_a_fork(session: Path) -> None:
    os.mkfifo(session.with_name(FORK))
    found = of(session)
    assert isinstance(found, Unknown)
    assert found.why.startswith("a session file beside its own cannot be read: ")


def test_a_parent_that_cannot_be_resolved_may_be_the_session(session: Path) -> None:
    def resolve(path: str) -> str:
        raise PermissionError(13, "Permission denied")

    forked(session)
    assert isinstance(ForkFinder(Path, resolve).of(str(session)), Unknown)


def test_a_folder_that_is_gone_or_cannot_be_located_is_unknown(session: Path) -> None:
    def outside(path: str) -> Path:
        raise ValueError("outside of the moment")

    assert of(session / "x.jsonl") == Unknown(
        "the folder of its session file cannot be read: not a directory"
    )
    assert of(session.parent / "gone" / "x.jsonl") == Unknown(
        "the folder of its session file is not there", absent=True
    )
    assert isinstance(ForkFinder(outside, str).of(str(session)), Unknown)


def test_a_fork_made_later_is_found_and_an_unchanged_folder_is_read_once(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    opened = module.open_regular
    monkeypatch.setattr(
        module, "open_regular", lambda path, follow: read.append(path) or opened(path, follow=follow)
    )
    finder = ForkFinder(Path, os.path.realpath)
    other = forked(session, OTHER_FORK, parent="/s/another.jsonl")
    settle(session.parent)
    assert [finder.of(str(session)), finder.of(str(session))] == [(), ()]
    fork = forked(session)
    assert finder.of(str(session)) == (str(fork),)
    assert read == [str(other), str(fork)]


def test_a_torn_header_is_read_again_until_it_is_whole(session: Path) -> None:
    finder = ForkFinder(Path, os.path.realpath)
    fork = forked(session)
    whole = fork.read_bytes()
    fork.write_bytes(whole[:30])
    assert finder.of(str(session)) == ()
    fork.write_bytes(whole)
    assert finder.of(str(session)) == (str(fork),)


@given(st.binary(max_size=200))
def test_any_bytes_raise_nothing(tmp_path_factory: pytest.TempPathFactory, junk: bytes) -> None:
    folder = tmp_path_factory.mktemp("junk")
    (folder / FORK).write_bytes(junk)
    assert of(folder / "x.jsonl") == ()


def test_no_recorded_child_was_forked(recorded: Callable[..., Disk]) -> None:
    file = f"{FOLDER}/2026-12-01T21-47-46-949Z_a213437c-1a54df95-6a7903a4-264c.jsonl"
    assert recorded("restart/3").forks(file) == ()
