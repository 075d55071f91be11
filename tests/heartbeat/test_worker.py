import errno
import os
import signal
import subprocess
import sys
from contextlib import suppress

import pytest
from heartbeat.given import put
from heartbeat.waiting import until

from strawboss.heartbeat import Heartbeat, worker
from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.record import examine
from strawboss.heartbeat.utc import utc_now
from strawboss.system.json_files import read_object


@pytest.fixture
def record(tmp_path):
    path = Worktree(tmp_path).heartbeat_file("leaf-7")
    return lambda: examine(str(path), "leaf-7", read_object(path), utc_now(), 1800)


@pytest.fixture
def heart(tmp_path):
    return lambda **options: Heartbeat("leaf-7", "run-42", tmp_path, **options)


def test_the_first_record_is_there_on_entering_and_says_starting(heart, record):
    with heart(pr_number=77):
        assert (record().ok, record().phase, record().pr_number) == (True, "starting", 77)


def test_it_beats_in_the_worktree_it_stands_in_and_not_in_a_part_of_it(tmp_path, record, monkeypatch):
    put(tmp_path / ".git", b"")
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    with Heartbeat("leaf-7", "run-42"):
        assert record().ok
    assert list((tmp_path / "src").iterdir()) == []


def test_leaving_writes_the_terminal_record(heart, record):
    with heart() as beats:
        beats.beat("running the tests", "validating")
        assert (record().phase, record().last_message) == ("validating", "running the tests")
    assert (record().ok, record().phase, record().terminal_state) == (True, "terminal", "CLEAN")


def test_a_worker_that_raises_ends_errored_and_its_exceptions_text_stays_private(heart, record):
    with pytest.raises(ValueError, match="secret"), heart():
        raise ValueError("secret token")
    assert (record().phase, record().terminal_state) == ("terminal", "ERRORED")
    assert record().last_message == "ended by ValueError"


@pytest.mark.parametrize(
    ("code", "state"), [(0, "CLEAN"), (None, "CLEAN"), (3, "ERRORED"), ("text", "ERRORED")]
)
def test_a_worker_that_exits_ends_by_its_exit_code(heart, record, code, state):
    with pytest.raises(SystemExit), heart():
        sys.exit(code)
    assert record().terminal_state == state


def test_a_worker_may_name_its_end(heart, record):
    with heart() as beats:
        beats.finish("BLOCKED", "needs a review")
    assert (record().terminal_state, record().last_message) == ("BLOCKED", "needs a review")


def test_a_raise_after_that_is_still_an_error(heart, record):
    with suppress(KeyError), heart() as beats:
        beats.finish("CLEAN", "all done")
        raise KeyError
    assert record().terminal_state == "ERRORED"


def test_a_thread_renews_the_record_while_the_worker_is_busy(heart, tmp_path):
    path = Worktree(tmp_path).heartbeat_file("leaf-7")
    with heart(every=0.02):
        before = path.stat().st_ino
        until(lambda: path.stat().st_ino != before, "a renewal")


def test_a_wait_ends_with_the_next_beat_and_phase_and_head_stay(heart, record):
    with heart() as beats:
        beats.beat("waiting", "polling", wait_kind="pr:watch", head_sha="abc")
        assert (record().wait_kind, record().head_sha) == ("pr:watch", "abc")
        beats.beat("goes on")
        assert (record().phase, record().wait_kind, record().head_sha) == ("polling", None, "abc")


@pytest.mark.parametrize("wrong", [{"phase": "poling"}, {"phase": "terminal"}, {"wait_kind": "vibes"}])
def test_a_wrong_beat_is_refused_and_the_record_stays(heart, record, wrong):
    with heart() as beats:
        with pytest.raises(ValueError, match=r"\w"):
            beats.beat("x", **wrong)
        assert (record().ok, record().phase) == (True, "starting")
        with pytest.raises(ValueError, match="terminal state"):
            beats.finish("DONE", "x")


def test_a_wrong_name_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match="file name"):
        Heartbeat("../x", "run-42", tmp_path)
    with pytest.raises(ValueError, match="180s"):
        Heartbeat("leaf-7", "run-42", tmp_path, every=600)
    assert list(tmp_path.iterdir()) == []


def test_a_renewal_that_fails_is_remembered_and_does_not_stop_the_work(heart, record, mocker):
    with heart(every=0.02) as beats:
        full = mocker.patch.object(
            worker, "write", side_effect=OSError(errno.ENOSPC, "No space left on device")
        )
        until(lambda: beats.last_error, "a failed renewal")
        mocker.stop(full)
        until(lambda: beats.last_error is None, "a good one")
    assert record().terminal_state == "CLEAN"


FULL = OSError(errno.ENOSPC, "No space left on device")


def test_a_terminal_record_that_cannot_be_written_is_said(heart, mocker):
    with pytest.raises(OSError, match="No space"), heart():
        mocker.patch.object(worker, "write", side_effect=FULL)


def test_but_it_never_hides_the_workers_own_error(heart, mocker):
    def work():
        with heart():
            mocker.patch.object(worker, "write", side_effect=FULL)
            raise KeyError

    with pytest.raises(KeyError) as error:
        work()
    assert "terminal heartbeat" in error.value.__notes__[0]


def test_a_directory_that_cannot_be_made_is_an_error_at_once(tmp_path, heart):
    (tmp_path / ".deft-scratch").write_text("a file in its place")
    with pytest.raises(OSError, match=r"."), heart():
        pytest.fail("the block must not run")


WORK = """
import sys
from strawboss.heartbeat import Heartbeat
with Heartbeat("leaf-7", "run-42", sys.argv[1]):
    print("working", flush=True)
    sys.stdin.read()
"""


def test_a_killed_worker_leaves_its_last_beat_and_no_terminal_record(tmp_path, record):
    process = subprocess.Popen(
        [sys.executable, "-c", WORK, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"working\n"
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert (record().ok, record().phase, record().is_terminal) == (True, "starting", False)
