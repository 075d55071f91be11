import os
from datetime import UTC, datetime, timedelta

import psutil
import pytest
from heartbeat.given import dead_pid, put

from strawboss.heartbeat.attempts.lock import LedgerHeldError, locked
from strawboss.heartbeat.utc import format_utc
from strawboss.system.json_files import read_object


@pytest.fixture
def unit(tmp_path):
    return tmp_path / "unit.json"


def held(unit, name=".lock", **fields):
    now = format_utc(datetime.now(UTC))
    return put(
        unit.with_name(unit.name + name), {"pid": os.getpid(), "token": "t", "startedAt": now} | fields
    )


def test_the_lock_names_its_owner_and_is_gone_afterwards(unit):
    with locked(unit):
        lock = read_object(unit.with_name("unit.json.lock"))
        assert set(lock) == {"pid", "token", "startedAt"}
        assert lock["pid"] == os.getpid()
    assert list(unit.parent.iterdir()) == []


def test_a_living_owner_keeps_it_however_old(unit):
    held(unit, startedAt=format_utc(datetime.now(UTC) + timedelta(days=1)))
    with pytest.raises(LedgerHeldError, match=f"process {os.getpid()}"), locked(unit):
        pass
    started = format_utc(datetime.fromtimestamp(psutil.Process().create_time(), UTC))
    held(unit, startedAt=started)
    with pytest.raises(LedgerHeldError), locked(unit):
        pass


@pytest.mark.parametrize("when", ["2001-01-01T00:00:00Z", "2101-01-01T00:00:00Z", "noon"])
def test_a_dead_owner_blocks_nobody_whatever_time_its_lock_bears(unit, when):
    held(unit, pid=dead_pid(), startedAt=when)
    with locked(unit):
        pass
    assert list(unit.parent.iterdir()) == []


def test_a_pid_that_was_used_again_is_not_the_owner(unit):
    held(unit, startedAt="2001-01-01T00:00:00Z")
    with locked(unit):
        pass


@pytest.mark.parametrize("what", [b"", b"{", b"[]", {"pid": "x"}, {"pid": -1}, {}])
def test_an_unreadable_lock_is_taken_over(unit, what):
    put(unit.with_name("unit.json.lock"), what)
    with locked(unit):
        pass


def test_a_pid_that_may_not_be_asked_counts_as_living(unit, mocker):
    held(unit)
    mocker.patch("psutil.Process", side_effect=psutil.AccessDenied(os.getpid()))
    with pytest.raises(LedgerHeldError), locked(unit):
        pass


def test_one_that_cleans_up_is_waited_out_and_a_dead_one_is_not(unit):
    held(unit, pid=dead_pid())
    held(unit, ".lock.reclaim")
    with pytest.raises(LedgerHeldError, match="cleans up"), locked(unit):
        pass
    held(unit, ".lock.reclaim", pid=dead_pid())
    with locked(unit):
        pass


def test_a_lock_that_was_taken_over_meanwhile_is_left_to_its_new_owner(unit):
    with locked(unit):
        held(unit, token="another")
    assert read_object(unit.with_name("unit.json.lock"))["token"] == "another"
