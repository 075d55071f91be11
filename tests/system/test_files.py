"""Private files are whole or not there, and their owner's alone."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest
from pytest_mock import MockerFixture

from strawboss.system.files import REPLACE_TRIES, _replace, make_private_directory, write_atomically


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def sharing_error(number: int) -> PermissionError:
    error = PermissionError(errno.EACCES, "held by another program")
    error.winerror = number  # type: ignore[attr-defined]
    return error


def test_a_written_file_holds_the_content_and_is_private(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a", b"one")
    write_atomically(tmp_path / "a", b"two")
    assert (tmp_path / "a").read_bytes() == b"two"
    assert mode(tmp_path / "a") == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_new_directories_are_private_and_old_ones_keep_their_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    made = make_private_directory(tmp_path / "a" / "b")
    assert make_private_directory(made) == made
    assert (mode(tmp_path), mode(tmp_path / "a"), mode(made)) == (0o755, 0o700, 0o700)


def test_a_full_disk_leaves_the_old_file_and_no_other(tmp_path: Path, mocker: MockerFixture) -> None:
    write_atomically(tmp_path / "a", b"old")
    mocker.patch("os.fsync", side_effect=OSError(errno.ENOSPC, "no space left"))
    with pytest.raises(OSError, match="no space left"):
        write_atomically(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_r25_a_file_held_for_a_moment_is_replaced_at_the_next_try(
    tmp_path: Path, mocker: MockerFixture
) -> None:
    write_atomically(tmp_path / "a", b"old")
    (tmp_path / "new").write_bytes(b"new")
    real = Path.replace
    answers = iter([sharing_error(32), sharing_error(32)])

    def replace(source: Path, target: Path) -> Path:
        error = next(answers, None)
        if error is not None:
            raise error
        return real(source, target)

    mocker.patch.object(Path, "replace", replace)
    pauses: list[float] = []
    _replace(tmp_path / "new", tmp_path / "a", pauses.append)
    assert (tmp_path / "a").read_bytes() == b"new"
    assert len(pauses) == 2


def test_r25_a_file_held_for_ever_is_an_error_after_the_bound_and_stays_intact(
    tmp_path: Path, mocker: MockerFixture
) -> None:
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "new").write_bytes(b"new")
    tries = mocker.patch.object(Path, "replace", side_effect=sharing_error(5))
    with pytest.raises(PermissionError):
        _replace(tmp_path / "new", tmp_path / "a", lambda _: None)
    assert tries.call_count == REPLACE_TRIES
    assert (tmp_path / "a").read_bytes() == b"old"


def test_any_other_error_is_not_tried_again(tmp_path: Path, mocker: MockerFixture) -> None:
    tries = mocker.patch.object(
        Path, "replace", side_effect=PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    )
    with pytest.raises(PermissionError):
        _replace(tmp_path / "new", tmp_path / "a", lambda _: None)
    assert tries.call_count == 1
