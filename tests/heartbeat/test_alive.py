import os
import subprocess
import threading
from datetime import timedelta

import pytest
from heartbeat.given import HOUR, NOW, ago, content, put

from strawboss.heartbeat import alive
from strawboss.heartbeat.alive import Activity
from strawboss.heartbeat.gh import Answer
from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.sweep import sweep
from strawboss.system.json_files import Broken

OLD = {"last_heartbeat_at": ago(hours=2)}


@pytest.fixture
def gate(tmp_path):
    """Asks the gate about one worktree's status directory, with these records in it."""
    directory = Worktree(tmp_path).status_directory
    directory.mkdir(parents=True)

    def gate(*required, dispatched=None, **records):
        for agent, fields in records.items():
            put(directory / f"{agent}.json", fields)
        return alive.decide(sweep([str(directory)], NOW), required, lambda _agent: dispatched)

    return gate


def said(verdict):
    return "\n".join(alive.failure_lines(verdict, {}))


def test_a_required_worker_that_beats_is_alive_whatever_else_lies_beside_it(gate):
    verdict = gate("a", a=content("a"), b=content("b", **OLD), c=b"{")
    assert verdict.exit_code == 0
    assert alive.success_lines(verdict, {}) == ["verify_subagent_alive: 1 required agent(s) alive"]


def test_without_a_required_worker_every_record_counts(gate):
    verdict = gate(a=content("a"), b=content("b", **OLD))
    assert verdict.exit_code == 1
    assert [judged.agent_id for judged in verdict.red] == ["b"]


def test_a_finished_worker_is_alive(gate):
    assert gate("a", a=content("a", **OLD, phase="terminal", terminal_state="CLEAN")).exit_code == 0


def test_a_missing_worker_says_the_word_and_the_road_to_take_over(gate):
    verdict = gate("a")
    assert verdict.exit_code == 1
    lines = said(verdict).splitlines()
    assert lines[0].endswith("FAILED")
    assert "REDISPATCH_OK: a" in lines
    for part in (
        "subagent:pre-cancel",
        "--action cancel --agent a",
        "DENY_DUPLICATE_ACTIVE",
        "session:start --rearm",
    ):
        assert part in said(verdict)


def test_a_stale_worker_says_the_word(gate):
    assert "REDISPATCH_OK: a" in said(gate("a", a=content("a", **OLD)))


@pytest.mark.parametrize("dispatched", [NOW, NOW - timedelta(seconds=179), NOW + HOUR, Broken("damaged")])
def test_within_grace_or_with_an_unreadable_dispatch_time_it_is_red_without_the_word(gate, dispatched):
    verdict = gate("a", dispatched=dispatched)
    assert verdict.exit_code == 1
    assert "REDISPATCH_OK" not in said(verdict)
    assert not alive.report(verdict, {}).redispatch_ok


def test_after_the_grace_it_says_the_word(gate):
    assert "REDISPATCH_OK: a" in said(gate("a", dispatched=NOW - timedelta(seconds=180)))


@pytest.mark.parametrize("fields", [b"{not json", content("a", wait_kind="vibes"), content("b"), b""])
def test_a_broken_record_is_red_and_takes_nobody_over(gate, fields):
    verdict = gate("a", dispatched=NOW - HOUR, a=fields)
    assert verdict.exit_code == 1
    assert "REDISPATCH_OK" not in said(verdict)
    assert "MALFORMED" in said(verdict)


def test_the_word_names_only_those_whose_death_is_proven(gate):
    verdict = gate("dead", "broken", "fine", dead=content("dead", **OLD), broken=b"{", fine=content("fine"))
    assert "REDISPATCH_OK: dead\n" in said(verdict)
    report = alive.report(verdict, {})
    assert report.missing_or_stale_agents == ["dead", "broken"]
    assert report.redispatch_agents == ["dead"]


def test_a_missing_directory_is_exit_2_without_the_word_though_the_list_is_filled(tmp_path):
    verdict = alive.decide(sweep([str(tmp_path / "gone")], NOW), ("a",))
    report = alive.report(verdict, {})
    assert verdict.exit_code == 2
    assert (report.all_ok, report.redispatch_ok, report.missing_or_stale_agents) == (False, False, ["a"])
    assert [worker.takeover for worker in report.workers] == [False]
    assert "REDISPATCH_OK" not in said(verdict)


def test_a_directory_that_is_not_there_may_hold_the_beat_that_is_missing(tmp_path, gate):
    for records in ({}, {"a": content("a", **OLD)}, {"b": content("b")}):
        swept = gate(**records).swept
        verdict = alive.decide(sweep([*swept.directories, str(tmp_path / "gone")], NOW), ("a",))
        assert verdict.exit_code == 2
        assert verdict.takeovers == ()
        assert not any(worker.takeover for worker in alive.report(verdict, {}).workers)


def test_a_directory_error_beside_a_required_worker_that_beats_does_not_matter(tmp_path, gate):
    swept = gate(a=content("a")).swept
    both = sweep([*swept.directories, str(tmp_path / "gone")], NOW)
    assert alive.decide(both, ("a",)).exit_code == 0
    assert alive.decide(both, ()).exit_code == 1


def test_the_report_counts_the_whole_sweep_and_prints_whole_minutes_as_such(gate):
    report = alive.report(gate("a", a=content("a"), b=content("b", **OLD), c=b"{"), {})
    assert (report.sweep.stale_count, report.sweep.malformed_count, len(report.records)) == (1, 1, 3)
    assert repr(report.sweep.threshold_minutes) == "30"


def test_recent_commits_stand_beside_the_verdict(gate):
    verdict = gate("a", "b", a=content("a", **OLD))
    activity = {"a": Activity(True, False), "b": Activity(None, False)}
    report = alive.report(verdict, activity)
    assert report.recent_git_activity is True
    assert [worker.recent_git_activity for worker in report.workers] == [True, None]
    assert "a commit recently; look before" in "\n".join(alive.failure_lines(verdict, activity))


def test_and_beside_the_verdict_on_a_worker_that_beats(gate):
    verdict = gate("a", a=content("a"))
    activity = {"a": Activity(False, False)}
    (worker,) = alive.report(verdict, activity).workers
    assert (worker.agent_id, worker.takeover, worker.recent_git_activity) == ("a", False, False)
    assert alive.success_lines(verdict, activity)[1:] == ["  a: its worktree had no commit recently"]


SILENT = Activity(False, False)


@pytest.mark.parametrize(
    ("fields", "activity", "dispatched", "silent"),
    [
        ({}, SILENT, None, True),
        ({}, SILENT, NOW - HOUR, True),
        ({}, SILENT, NOW - timedelta(seconds=1801), True),
        # it has had no time to be silent, or nobody can say how much
        ({}, SILENT, NOW - timedelta(seconds=1800), False),
        ({}, SILENT, Broken("damaged"), False),
        # somebody saw something, or could not look
        ({}, Activity(True, False), None, False),
        ({}, Activity(False, True), None, False),
        ({}, Activity(None, False), None, False),
        ({}, Activity(False, None), None, False),
        # it has finished
        ({"phase": "terminal", "terminal_state": "CLEAN"}, SILENT, None, False),
    ],
)
def test_a_worker_that_its_host_calls_running_is_dead_by_its_silence_in_git_and_pull_request(
    gate, fields, activity, dispatched, silent
):
    swept = gate(a=content("a", **fields)).swept
    verdict = alive.decide(swept, ("a",), lambda _agent: dispatched, {"a": activity})
    assert ("REDISPATCH_OK: a" in said(verdict)) is silent
    assert verdict.exit_code == int(silent)
    assert alive.report(verdict, {"a": activity}).redispatch_agents == (["a"] if silent else [])


def test_contradicting_copies_are_not_taken_over_by_silence_either(gate):
    swept = gate(a=content("a"), z=content("a", **OLD)).swept
    assert alive.decide(swept, ("a",), activity={"a": SILENT}).takeovers == ()


@pytest.mark.parametrize(
    ("activity", "answer"),
    [({}, None), ({"a": None}, None), ({"a": False}, False), ({"a": False, "b": None}, None)],
)
def test_activity_is_unknown_unless_all_is_known(gate, activity, answer):
    found = {agent: Activity(git, False) for agent, git in activity.items()}
    assert alive.report(gate("a"), found).recent_git_activity is answer


def repository(root, age):
    when = f"{int((NOW - timedelta(seconds=age)).timestamp())} +0000"
    environment = {**os.environ, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.invalid"]
    for command in (["init"], [*identity, "commit", "--allow-empty", "-m", "x"]):
        subprocess.run(["git", "-C", str(root), *command], check=True, capture_output=True, env=environment)


@pytest.mark.parametrize(
    ("age", "fields", "touched", "found"),
    [
        (60, {}, None, Activity(True, False)),
        (3600, {}, None, Activity(False, False)),
        (60, {"pr_number": 7}, ago(60), Activity(True, True)),
        (60, {"pr_number": 7}, ago(hours=2), Activity(True, False)),
        (3600, {"pr_number": 7}, ago(60), Activity(False, True)),
        (3600, {"pr_number": 7}, "", Activity(False, None)),
    ],
)
def test_every_worker_is_looked_at_and_its_pull_request_too(tmp_path, gate, age, fields, touched, found):
    repository(tmp_path, age)
    questions = []

    def ask_in(root):
        return lambda arguments: questions.append((root, arguments)) or Answer(0, touched, "")

    verdict = gate("a", a=content("a", **fields))
    assert alive.recent_activity(verdict, ask_in) == {"a": found}
    assert [root for root, _ in questions] == ([tmp_path] if fields else [])


@pytest.mark.parametrize(
    ("activity", "text"),
    [
        (
            Activity(True, True),
            "its worktree had a commit recently; its pull request #7 had a change recently",
        ),
        (
            Activity(None, False),
            "whether its worktree had a commit recently is not known; its pull request #7 had no change recently",
        ),
        (
            Activity(False, None),
            "its worktree had no commit recently; whether its pull request #7 had a change recently is not known",
        ),
    ],
)
def test_what_came_of_a_worker_is_told_and_so_is_what_could_not_be_looked_up(gate, activity, text):
    (judged,) = gate("a", a=content("a", pr_number=7)).workers
    assert alive.activity_text(judged, activity) == text


def test_of_a_worker_that_may_be_taken_over_and_had_a_commit_that_is_said(gate):
    (judged,) = gate("a", a=content("a", **OLD)).workers
    assert "look before you take over" in alive.activity_text(judged, Activity(True, False))


def test_many_workers_are_asked_about_at_once(gate):
    together = threading.Barrier(3, timeout=30)

    def ask_in(_root):
        return lambda _arguments: (together.wait(), Answer(0, ago(60), ""))[1]

    verdict = gate(**{agent: content(agent, pr_number=7) for agent in "abc"})
    found = alive.recent_activity(verdict, ask_in)
    assert [each.pull_request for each in found.values()] == [True] * 3
