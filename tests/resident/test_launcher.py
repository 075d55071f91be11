"""What a started session means for the core."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs.written import RUN, activity

from strawboss.config import Config
from strawboss.pi.protocol import Started
from strawboss.resident.launcher import (
    POLICY_SUFFIX,
    artifacts_directory,
    disk_of,
    launcher_of,
    reason_to_stay_off,
    resolver,
    resolver_of_one_look,
)


def started(directory: Path, **changes: Any) -> Started:
    file = directory / "2026_abc.jsonl"
    whole = Started(
        1, "abc", "startup", str(file), str(directory), "boss", str(directory), "w1:p1", {"pi": 42}, {}, "tui"
    )
    return msgspec.structs.replace(whole, **changes)


def test_everything_the_extension_tells_is_the_launchers(tmp_path: Path) -> None:
    launcher = launcher_of(started(tmp_path), Config(), "linux")
    assert (launcher.id, launcher.name, launcher.pid, launcher.pane) == ("abc", "boss", 42, "w1:p1")
    assert launcher.file == os.path.realpath(tmp_path / "2026_abc.jsonl")
    assert (launcher.platform, launcher.tower, launcher.nested) == ("linux", False, False)


def test_a_tower_is_one_by_config(tmp_path: Path) -> None:
    assert launcher_of(started(tmp_path), Config(role="tower"), "linux").tower


def test_a_policy_sidecar_beside_the_file_makes_it_a_nested_subagent(tmp_path: Path) -> None:
    (tmp_path / f"2026_abc.jsonl{POLICY_SUFFIX}").touch()
    assert launcher_of(started(tmp_path), Config(), "linux").nested


def test_a_sidecar_that_cannot_be_looked_for_is_looked_for_again(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    inside = str(tmp_path / "file" / "x.jsonl")
    with pytest.raises(OSError, match="Not a directory"):
        launcher_of(started(tmp_path, file=inside), Config(), "linux")


ResolveIn = Callable[[str], Callable[[str], str]]


@pytest.fixture(params=[resolver, resolver_of_one_look])
def resolve_in(request: pytest.FixtureRequest) -> ResolveIn:
    return request.param


@pytest.mark.parametrize("error", [errno.EACCES, errno.EINTR, errno.ENOSPC, errno.EIO, errno.ESTALE])
def test_a_link_that_cannot_be_looked_at_is_never_taken_for_a_plain_name(
    resolve_in: ResolveIn, tmp_path: Path, error: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path as it stands would compare as another file: a result, or a second pi, would go unseen."""
    real = os.lstat

    def lstat(path: str, **named: Any) -> os.stat_result:
        if path == str(tmp_path / "link"):
            raise OSError(error, os.strerror(error))
        return real(path, **named)

    monkeypatch.setattr(os, "lstat", lstat)
    with pytest.raises(OSError, match=os.strerror(error)):
        resolve_in(str(tmp_path))("link/x.jsonl")


@pytest.mark.parametrize(
    "path", ["link/gone/x.jsonl", "link/gone/../gone/x.jsonl", "link/file/../gone/x.jsonl"]
)
def test_what_is_not_there_is_resolved_as_far_as_it_is(
    resolve_in: ResolveIn, tmp_path: Path, path: str
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").touch()
    (tmp_path / "link").symlink_to("real")
    assert resolve_in(str(tmp_path))(path) == str(tmp_path / "real" / "gone" / "x.jsonl")


@pytest.mark.parametrize("path", ["x" * 300, "loop/x.jsonl", "a/" * 3000])
def test_a_path_no_file_can_have_stays_as_it_is(resolve_in: ResolveIn, tmp_path: Path, path: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert resolve_in(str(tmp_path))(path) == str(tmp_path / path)


def test_a_relative_path_in_a_folder_that_is_gone_is_unknown(
    resolve_in: ResolveIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(FileNotFoundError):
        resolve_in("")("x.jsonl")


def test_a_relative_file_is_resolved_against_the_launchers_directory(
    resolve_in: ResolveIn, tmp_path: Path
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert resolve_in(str(tmp_path))("link/../link/x.jsonl") == os.path.realpath(
        tmp_path / "real" / "x.jsonl"
    )


NAMES = st.sampled_from(["real", "link", "loop", "file", "gone", "deep", ".", "..", ""])


@given(st.lists(st.lists(NAMES, min_size=1, max_size=5).map("/".join), min_size=1, max_size=6))
def test_for_one_look_a_path_resolves_as_it_always_does(paths: list[str]) -> None:
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "real" / "deep").mkdir(parents=True)
        (Path(place) / "real" / "file").touch()
        (Path(place) / "real" / "deep" / "link").symlink_to("../file")
        (Path(place) / "link").symlink_to("real/deep")
        (Path(place) / "loop").symlink_to("loop")
        quick, exact = resolver_of_one_look(place), resolver(place)
        assert [quick(path) for path in paths] == [exact(path) for path in paths]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, ""),
        ({"protocol": 2}, "its extension speaks protocol 2, this process 1"),
        ({"id": ""}, "pi gave this session no id"),
        ({"file": None}, "pi keeps no file for this session"),
    ],
)
def test_a_session_is_worked_for_or_there_is_a_reason(
    tmp_path: Path, changes: dict[str, Any], why: str
) -> None:
    said = reason_to_stay_off(started(tmp_path, **changes))
    assert said.startswith(why)
    assert bool(said) == bool(why)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ((), "beside"),
        (("beside",), "beside"),
        (("sessions",), "sessions"),
        (("beside", "sessions"), "beside"),
    ],
)
def test_artifacts_lie_beside_the_file_unless_they_are_only_where_pi_keeps_sessions(
    tmp_path: Path, made: tuple[str, ...], expected: str
) -> None:
    for name in made:
        (tmp_path / name / "artifacts" / "abc").mkdir(parents=True)
    start = started(tmp_path, dir=str(tmp_path / "sessions"))
    found = artifacts_directory(start, str(tmp_path / "beside" / "x.jsonl"))
    assert found == str(tmp_path / expected / "artifacts" / "abc")


def test_the_disk_reads_the_runs_there(tmp_path: Path) -> None:
    folder = tmp_path / "artifacts" / "abc" / "subagent-activity"
    folder.mkdir(parents=True)
    (folder / f"{RUN}.json").write_bytes(msgspec.json.encode(activity()))
    start = started(tmp_path)
    launcher = launcher_of(start, Config(), "linux")
    runs = disk_of(launcher, artifacts_directory(start, launcher.file)).runs()
    assert isinstance(runs, dict)
    assert runs[RUN].phase == "waiting"
