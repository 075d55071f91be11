import subprocess
import sys
import threading
from dataclasses import replace

import pytest
from heartbeat.waiting import until

from strawboss.heartbeat import beat_for_process, writer
from strawboss.heartbeat.record import Beat
from strawboss.heartbeat.utc import utc_now
from strawboss.system.json_files import read_object
from strawboss.system.process_identity import Liveness, identify

BEAT = Beat("leaf-7", "run-42", "implementing", "writes code", wait_kind="reading")


@pytest.fixture
def process():
    """A process that works until it is told to stop."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield child
    child.kill()
    child.communicate()


@pytest.fixture
def kept(tmp_path, process):
    """A beat_for_process beating for that process in a thread, and its troubles."""
    writer.write(tmp_path, BEAT, utc_now())
    troubles = []
    thread = threading.Thread(
        target=beat_for_process.keep_beating,
        args=(tmp_path, BEAT, identify(process.pid), 0.02, "ERRORED", troubles.append),
    )
    thread.start()
    yield thread, troubles
    process.kill()
    thread.join(90)
    assert not thread.is_alive()


def record(directory):
    return read_object(directory / "leaf-7.json")


def test_it_renews_while_the_process_lives_and_ends_with_the_terminal_record(tmp_path, process, kept):
    path = tmp_path / "leaf-7.json"
    first = path.stat().st_ino
    until(lambda: path.stat().st_ino != first, "a renewal")
    process.kill()
    process.wait()
    kept[0].join(90)
    end = record(tmp_path)
    assert (end["phase"], end["terminal_state"], "wait_kind" in end) == ("terminal", "ERRORED", False)
    assert str(process.pid) in end["last_message"]


def test_it_renews_what_the_worker_says_and_does_not_undo_it(tmp_path, kept):
    writer.write(tmp_path, Beat("leaf-7", "run-42", "validating", "tests"), utc_now())
    inode = (tmp_path / "leaf-7.json").stat().st_ino
    until(lambda: (tmp_path / "leaf-7.json").stat().st_ino != inode, "a renewal")
    assert (record(tmp_path)["phase"], record(tmp_path)["last_message"]) == ("validating", "tests")


def test_it_stops_at_the_workers_own_terminal_record(tmp_path, process, kept):
    writer.write(tmp_path, Beat("leaf-7", "run-42", "terminal", "done", terminal_state="CLEAN"), utc_now())
    kept[0].join(90)
    assert process.poll() is None
    assert record(tmp_path)["terminal_state"] == "CLEAN"


def test_a_record_that_cannot_be_renewed_is_reported_and_tried_again(tmp_path, kept):
    until(lambda: (tmp_path / "leaf-7.json").exists())
    (tmp_path / "leaf-7.json").write_text("{half")
    until(lambda: kept[1], "a report")
    writer.write(tmp_path, BEAT, utc_now())
    inode = (tmp_path / "leaf-7.json").stat().st_ino
    until(lambda: (tmp_path / "leaf-7.json").stat().st_ino != inode, "a renewal")


def test_a_process_that_cannot_be_seen_gets_neither_a_beat_nor_an_end(tmp_path, process, mocker):
    writer.write(tmp_path, BEAT, utc_now())
    before = record(tmp_path)
    looks = iter([Liveness.UNKNOWN, Liveness.UNKNOWN, KeyboardInterrupt])
    mocker.patch.object(beat_for_process, "liveness", side_effect=looks)
    with pytest.raises(KeyboardInterrupt):
        beat_for_process.keep_beating(tmp_path, BEAT, identify(process.pid), 0.001, "ERRORED", pytest.fail)
    assert record(tmp_path) == before


def test_a_pid_that_was_used_again_is_the_end_of_the_process(tmp_path, process):
    writer.write(tmp_path, BEAT, utc_now())
    earlier = replace(identify(process.pid), started=1.0)
    beat_for_process.keep_beating(tmp_path, BEAT, earlier, 0.02, "ERRORED", pytest.fail)
    assert record(tmp_path)["terminal_state"] == "ERRORED"
