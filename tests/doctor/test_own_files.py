from __future__ import annotations

from pathlib import Path

import pytest
from doctor.given import Make

from strawboss.doctor.finding import Finding, Health
from strawboss.doctor.own_files import locks, permissions
from strawboss.system import lock as lock_module
from strawboss.system.lock import Lock


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


@pytest.mark.parametrize("held", [True, False])
def test_the_locks_that_are_there_are_tried(patient: Make, place: Path, held: bool) -> None:
    assert locks(patient()).health is Health.OK
    folder = place / "state" / "locks"
    folder.mkdir(parents=True)
    lock = Lock(folder / "boss.lock")
    assert lock.take()
    if not held:
        lock.release()
    assert locks(patient()) == Finding("lock", Health.OK, "locks work")
    lock.release()


def test_a_place_where_no_lock_can_be_taken_is_told(patient: Make, place: Path) -> None:
    (place / "state" / "locks" / "boss.lock").mkdir(parents=True)
    finding = locks(patient())
    assert (finding.health, finding.fix) == (Health.FIX, "set paths.state elsewhere")


def test_locks_that_exclude_nobody_are_told(
    patient: Make, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "state" / "locks").mkdir(parents=True)
    (place / "state" / "locks" / "boss.lock").touch()
    monkeypatch.setattr(lock_module, "_lock", lambda descriptor: None)  # as some network file systems do
    assert locks(patient()).fix == "set paths.state to a local disk"
