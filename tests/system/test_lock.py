"""The lock of one process: it excludes, also filelock, it goes with its holder, and it never waits."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import filelock
import pytest

from strawboss.system.lock import Lock

HOLDER = """
import sys
from pathlib import Path
from strawboss.system.lock import Lock
print(Lock(Path(sys.argv[1])).take(), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a.lock"


def test_one_holds_it_until_it_lets_go(file: Path) -> None:
    first, second = Lock(file), Lock(file)
    assert first.take()
    assert first.take()
    assert not second.take()
    first.release()
    first.release()
    assert second.take()
    second.release()
    assert file.exists()


def test_it_and_filelock_exclude_each_other(file: Path) -> None:
    lock = Lock(file)
    with filelock.FileLock(file, timeout=0):
        assert not lock.take()
    assert lock.take()
    with pytest.raises(filelock.Timeout):
        filelock.FileLock(file, timeout=0).acquire()
    lock.release()


def test_it_goes_with_a_process_that_is_killed(file: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"True\n"
        lock = Lock(file)
        assert not lock.take()
        holder.kill()
        holder.wait()
        assert lock.take()
        lock.release()


def test_its_file_is_private_and_what_is_in_it_stays(file: Path) -> None:
    file.write_text("words")
    lock = Lock(file)
    assert lock.take()
    lock.release()
    assert file.read_text() == "words"
    file.unlink()
    assert lock.take()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    lock.release()


def test_where_no_lock_can_be_had_it_says_why(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        Lock(tmp_path / "missing" / "a.lock").take()
    with pytest.raises(OSError, match="directory"):
        Lock(tmp_path).take()
