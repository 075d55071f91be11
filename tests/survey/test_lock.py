"""Asking for a lock without taking it."""

from __future__ import annotations

from pathlib import Path

import filelock

from strawboss.survey.lock import is_held


def test_it_is_held_while_somebody_has_it(tmp_path: Path) -> None:
    file = tmp_path / "x.lock"
    assert not is_held(file)
    with filelock.FileLock(file):
        assert is_held(file)
    file.touch()
    assert not is_held(file)


def test_asking_does_not_take_it(tmp_path: Path) -> None:
    file = tmp_path / "x.lock"
    file.touch()
    assert not is_held(file)
    with filelock.FileLock(file, timeout=0):
        assert is_held(file)


def test_what_cannot_be_asked_counts_as_held(tmp_path: Path) -> None:
    (tmp_path / "not a folder").touch()
    assert is_held(tmp_path / "not a folder" / "x.lock")
