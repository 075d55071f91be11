import os
import subprocess

import pytest
from heartbeat.given import NOW, ago, beat, content

from strawboss.heartbeat.clocks import SleepClock
from strawboss.heartbeat.doubts import (
    Doubts,
    gather,
    notes,
    recent_git_activity,
    recent_pull_request_activity,
)
from strawboss.heartbeat.gh import Answer
from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.record import examine

NOW_SECONDS = NOW.timestamp()


def record(path="leaf-7.json", **changes):
    return examine(str(path), "leaf-7", content(**changes), NOW, 1800)


NOTHING = Doubts()


def said(found, evidence=NOTHING):
    return [note.partition(":")[0] for note in notes(found, evidence, 1800)]


def test_a_fresh_record_is_not_doubted():
    assert said(record(), Doubts(10, 3600)) == []


def test_a_stale_record_whose_machine_slept_is_shown_as_asleep():
    found = record(last_heartbeat_at=ago(hours=2))
    (note,) = notes(found, Doubts(7200, 7000), 1800)
    assert note.startswith("asleep: the machine slept 1.9h")
    assert "not stale by waking time" in note


def test_one_that_is_stale_by_waking_time_too_is_shown_as_that():
    (note,) = notes(record(last_heartbeat_at=ago(hours=3)), Doubts(None, 3600), 1800)
    assert "stale anyway" in note


@pytest.mark.parametrize("slept", [None, 0, 29])
def test_a_nap_or_an_unknown_sleep_is_not_mentioned(slept):
    assert said(record(last_heartbeat_at=ago(hours=2)), Doubts(7200, slept)) == []


def test_an_old_time_in_a_file_just_written_is_clock_skew():
    assert said(record(last_heartbeat_at=ago(minutes=40)), Doubts(10, None)) == ["clock skew"]


def test_an_absurd_age_is_a_suspect_source():
    assert said(record(last_heartbeat_at=ago(hours=18 * 24))) == ["suspect source"]


def test_facts_are_gathered_for_a_stale_record_only(tmp_path):
    clock = SleepClock("b", 100.0)
    fresh, old = beat(tmp_path), beat(tmp_path, "old")
    os.utime(old, (NOW_SECONDS - 10, NOW_SECONDS - 10))
    stale = record(old, last_heartbeat_at=ago(hours=2), extra=SleepClock("b", 40.0).as_extra())
    assert gather(record(fresh), NOW, clock) == Doubts()
    assert gather(stale, NOW, clock) == Doubts(10, 60)


def test_a_file_that_vanished_has_no_time_of_its_own(tmp_path):
    assert gather(record(tmp_path / "gone.json", last_heartbeat_at=ago(hours=2)), NOW, None) == Doubts()


def git(root, *arguments, at=NOW_SECONDS):
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.invalid"]
    when = f"{int(at)} +0000"
    environment = {**os.environ, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
    subprocess.run(
        ["git", *identity, "-C", str(root), *arguments], check=True, capture_output=True, env=environment
    )


@pytest.mark.parametrize(("age", "recent"), [(60, True), (1800, True), (1801, False)])
def test_a_commit_of_the_last_half_hour_is_recent_activity(tmp_path, age, recent):
    git(tmp_path, "init")
    git(tmp_path, "commit", "--allow-empty", "-m", "x", at=NOW_SECONDS - age)
    assert recent_git_activity(str(Worktree(tmp_path).status_directory), NOW, 1800) is recent


def test_without_a_repository_or_a_commit_activity_is_unknown(tmp_path):
    status = str(Worktree(tmp_path).status_directory)
    assert recent_git_activity(status, NOW, 1800) is None
    git(tmp_path, "init")
    assert recent_git_activity(status, NOW, 1800) is None
    assert recent_git_activity(str(tmp_path), NOW, 1800) is None


@pytest.mark.parametrize(
    ("answer", "recent"),
    [
        (Answer(0, ago(1800) + "\n", ""), True),
        (Answer(0, ago(1801) + "\n", ""), False),
        (Answer(0, "null\n", ""), None),
        (Answer(1, ago(60), "HTTP 404"), None),
        (Answer(None, "", "gh is not installed"), None),
    ],
)
def test_a_pull_request_touched_in_the_last_half_hour_is_recent_activity(answer, recent):
    asked = []

    def ask(arguments):
        asked.append(arguments)
        return answer

    assert recent_pull_request_activity(ask, 77, NOW, 1800) is recent
    assert asked == [["api", "repos/{owner}/{repo}/pulls/77", "--jq", ".updated_at"]]
