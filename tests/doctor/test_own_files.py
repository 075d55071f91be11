from __future__ import annotations

from pathlib import Path

import filelock
from doctor.given import Make

from strawboss.doctor.finding import Health
from strawboss.doctor.own_files import locks, permissions


def test_a_private_state_directory_is_well_and_an_open_one_is_not(patient: Make, place: Path) -> None:
    (place / "state").mkdir(mode=0o700)
    assert permissions(patient()).health is Health.OK
    (place / "state" / "x").touch(mode=0o644)
    finding = permissions(patient())
    assert finding.health is Health.FIX
    assert finding.fix == f"run `chmod -R go-rwx {place}/state`"


def test_a_state_directory_that_cannot_be_made_is_told(patient: Make, place: Path) -> None:
    (place / "state").touch()
    assert permissions(patient()).health is Health.FIX


def test_locks_are_tried_and_the_held_ones_counted(patient: Make, place: Path) -> None:
    folder = place / "state" / "locks"
    folder.mkdir(parents=True)
    (folder / "left-behind.lock").touch()
    with filelock.FileLock(folder / "held.lock"):
        finding = locks(patient())
    assert finding.health is Health.OK
    assert finding.text == "locks work; 1 sessions are being watched now"
    assert sorted(file.name for file in folder.iterdir()) == ["held.lock", "left-behind.lock"]
    assert "no session is being watched now (a process starts with" in locks(patient()).text


def test_a_place_where_no_lock_can_be_taken_is_told(patient: Make, place: Path) -> None:
    (place / "state").touch()
    assert locks(patient()).health is Health.FIX
