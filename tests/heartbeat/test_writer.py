import dataclasses
import errno
import os
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock, Timeout
from heartbeat.given import NOW, ago, content, dead_pid, put, tree

from strawboss.heartbeat import turn, writer
from strawboss.heartbeat.clocks import SleepClock
from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.record import Beat
from strawboss.heartbeat.sweep import sweep
from strawboss.heartbeat.utc import utc_now
from strawboss.system.json_files import read_object

BEAT = Beat("leaf-7", "run-42", "polling", "poll 3 of 20")
STARTING = Beat("leaf-7", "run-42", "starting", "again")
END = Beat("leaf-7", "run-42", "terminal", "done", terminal_state="CLEAN")


def records(directory):
    return [path.name for path in directory.iterdir() if path.suffix == ".json"]


def test_beats_replace_one_file_in_a_directory_made_on_the_way(tmp_path):
    directory = Worktree(tmp_path).status_directory
    for message in ("one", "two"):
        writer.write(directory, Beat("leaf-7", "run-42", "polling", message), NOW)
    assert records(directory) == ["leaf-7.json"]
    assert read_object(directory / "leaf-7.json")["last_message"] == "two"


def test_a_beat_touches_nothing_but_the_status_directory(tmp_path):
    put(tmp_path / ".deft" / "occupancy.json", b"{}")
    writer.write(Worktree(tmp_path).status_directory, BEAT, NOW)
    assert set(tree(tmp_path)) == {
        ".deft/occupancy.json",
        ".deft-scratch/subagent-status/leaf-7.json",
        ".deft-scratch/subagent-status/.leaf-7.lock",
        ".deft-scratch/.gitignore",
    }
    assert (tmp_path / ".deft" / "occupancy.json").read_bytes() == b"{}"


def test_a_beat_says_in_extra_how_long_the_machine_slept_where_that_can_be_known(tmp_path, mocker):
    mocker.patch.object(writer, "sleep_clock", return_value=SleepClock("boot-1", 5.0))
    beat = Beat("leaf-7", "run-42", "polling", "x", extra={"stall_streak": 2})
    extra = read_object(writer.write(tmp_path, beat, NOW))["extra"]
    assert extra == {"stall_streak": 2, "clock": {"boot": "boot-1", "slept_seconds": 5.0}}
    mocker.patch.object(writer, "sleep_clock", return_value=None)
    assert read_object(writer.write(tmp_path, beat, NOW))["extra"] == {"stall_streak": 2}


@pytest.mark.parametrize(
    ("seconds", "allowed"), [(90, True), (180, True), (181, False), (0, False), (-1, False)]
)
def test_a_beat_is_due_every_three_minutes_at_the_latest(seconds, allowed):
    with nullcontext() if allowed else pytest.raises(ValueError, match="180s"):
        writer.check_cadence(seconds)
    assert writer.CADENCE_SECONDS == 90


def test_renewing_changes_the_time_and_keeps_what_others_wrote(tmp_path):
    put(tmp_path / "leaf-7.json", content(last_heartbeat_at=ago(hours=1), odd="kept"))
    assert writer.renew(tmp_path, "leaf-7", NOW)
    renewed = read_object(tmp_path / "leaf-7.json")
    assert (renewed["last_heartbeat_at"], renewed["odd"], renewed["last_message"]) == (
        ago(0),
        "kept",
        "poll 3 of 20",
    )


@pytest.mark.parametrize("end", [{"phase": "terminal"}, {"terminal_state": "CLEAN"}])
def test_a_terminal_record_is_not_revived(tmp_path, end):
    path = put(tmp_path / "leaf-7.json", content(**end))
    before = path.read_bytes()
    assert not writer.renew(tmp_path, "leaf-7", NOW)
    assert path.read_bytes() == before


@pytest.mark.parametrize("what", [None, b"{half"])
def test_a_missing_or_broken_record_cannot_be_renewed_and_stays(tmp_path, what):
    if what is not None:
        put(tmp_path / "leaf-7.json", what)
    with pytest.raises(OSError, match=r"leaf-7\.json"):
        writer.renew(tmp_path, "leaf-7", NOW)


def test_the_workers_own_terminal_record_is_kept(tmp_path):
    writer.write(tmp_path, Beat("leaf-7", "run-42", "terminal", "mine", terminal_state="BLOCKED"), NOW)
    assert not writer.finish_unless_finished(tmp_path, END, NOW)
    assert read_object(tmp_path / "leaf-7.json")["terminal_state"] == "BLOCKED"


def test_without_one_it_is_written(tmp_path):
    writer.write(tmp_path, BEAT, NOW)
    assert writer.finish_unless_finished(tmp_path, END, NOW)
    assert read_object(tmp_path / "leaf-7.json")["terminal_state"] == "CLEAN"


ENDED = [{"phase": "terminal", "terminal_state": "CLEAN"}, {"terminal_state": "CLEAN"}, {"phase": "terminal"}]


@pytest.mark.parametrize("ended", ENDED)
@pytest.mark.parametrize("beat", [BEAT, END, replace(END, terminal_state="ERRORED")])
def test_terminal_stays_terminal(tmp_path, ended, beat):
    path = put(tmp_path / "leaf-7.json", content(**ended))
    before = path.read_bytes()
    with pytest.raises(writer.EndedError, match="leaf-7 has ended"):
        writer.write(tmp_path, beat, NOW)
    assert path.read_bytes() == before


@pytest.mark.parametrize("ended", ENDED)
def test_until_a_new_life_starts_and_what_it_replaced_is_said(tmp_path, ended):
    put(tmp_path / "leaf-7.json", content(**ended))
    written = writer.write_next(tmp_path, "leaf-7", lambda _before: STARTING, NOW)
    assert "terminal record" in written.replaced
    assert read_object(written.path)["phase"] == "starting"


def test_a_record_that_could_not_be_used_is_replaced_and_an_ordinary_beat_replaces_nothing_worth_saying(
    tmp_path,
):
    put(tmp_path / "leaf-7.json", b"{half")
    assert "malformed JSON" in writer.write_next(tmp_path, "leaf-7", lambda _before: BEAT, NOW).replaced
    assert writer.write_next(tmp_path, "leaf-7", lambda _before: BEAT, NOW).replaced == ""


def test_another_parent_may_steer_it_from_then_on_and_that_is_said(tmp_path):
    writer.write_next(tmp_path, "leaf-7", lambda _before: BEAT, NOW)
    other = dataclasses.replace(BEAT, parent_id="run-43")
    written = writer.write_next(tmp_path, "leaf-7", lambda _before: other, NOW)
    assert written.replaced == f"its parent {BEAT.parent_id}"


def test_who_decides_sees_what_lies_there_in_its_own_turn(tmp_path):
    seen = []

    def decide(before):
        with pytest.raises(Timeout):
            FileLock(tmp_path / ".leaf-7.lock", timeout=0).acquire()
        seen.append(before and before.last_message)
        return BEAT

    for _ in range(2):
        writer.write_next(tmp_path, "leaf-7", decide, NOW)
    assert seen == [None, "poll 3 of 20"]


@pytest.mark.parametrize("place", ["gone/.deft-scratch/subagent-status", "gone/status", "gone"])
def test_a_place_that_is_not_there_is_not_made(tmp_path, place):
    with pytest.raises(FileNotFoundError, match="gone"):
        writer.write(tmp_path / place, BEAT, NOW)
    assert list(tmp_path.iterdir()) == []


def test_what_killed_writers_left_behind_is_cleaned_and_nothing_else(tmp_path):
    mine, dead = os.getpid(), dead_pid()
    stray = [f".leaf-7.json.{dead}.123.tmp", f".leaf-8.json.{dead}.1.tmp"]
    others = [
        f".leaf-7.json.{mine}.123.tmp",
        f".leaf-7.json.{dead}.tmp",
        ".leaf-7.json.0b8f.tmp",
        f"leaf-7.json.{dead}.123.tmp",
        f".leaf-7.lock.{dead}.123.tmp",
        ".leaf-7.json.99999999999999.1.tmp",
    ]
    for name in (*stray, *others):
        put(tmp_path / name, b"{half")
    writer.write(tmp_path, BEAT, NOW)
    assert {path.name for path in tmp_path.iterdir()} == {*others, "leaf-7.json", ".leaf-7.lock"}


def test_a_full_disk_leaves_the_last_beat_whole(tmp_path, mocker):
    writer.write(tmp_path, BEAT, NOW)
    mocker.patch.object(Path, "replace", side_effect=OSError(errno.ENOSPC, "No space left on device"))
    with pytest.raises(OSError, match="No space"):
        writer.write(tmp_path, END, NOW)
    assert read_object(tmp_path / "leaf-7.json")["phase"] == "polling"
    assert records(tmp_path) == ["leaf-7.json"]


def test_a_writer_that_never_lets_go_is_an_error_and_no_hang(tmp_path, mocker):
    mocker.patch.object(turn, "LONGEST_WAIT_SECONDS", 0.05)
    with FileLock(tmp_path / ".leaf-7.lock"), pytest.raises(OSError, match="another has held it"):
        writer.write(tmp_path, BEAT, NOW)


WRITE = """
import sys
from contextlib import nullcontext
from pathlib import Path
from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.record import Beat
from strawboss.heartbeat.utc import utc_now
from strawboss.heartbeat.writer import write
for number in range(80):
    write(Path(sys.argv[1]), Beat("leaf-7", sys.argv[2], "polling", "x" * (number % 200)), utc_now())
"""


def test_beside_two_writing_processes_a_tight_reader_never_sees_a_torn_record(tmp_path):
    writer.write(tmp_path, BEAT, utc_now())
    command = [sys.executable, "-c", WRITE, str(tmp_path)]
    processes = [subprocess.Popen([*command, f"run-{number}"]) for number in range(2)]
    seen = set()
    while any(process.poll() is None for process in processes):
        (record,) = sweep([str(tmp_path)], utc_now()).records
        assert record.ok, record.failures
        seen.add(record.parent_id)
    assert [process.returncode for process in processes] == [0, 0]
    assert seen >= {"run-0", "run-1"}
    assert records(tmp_path) == ["leaf-7.json"]
