from datetime import timedelta

import pytest
from heartbeat.given import HOUR, NOW, ago, content, put

from strawboss.heartbeat import alive
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
    assert alive.success_text(verdict) == "verify_subagent_alive: 1 required agent(s) alive"


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
    assert "REDISPATCH_OK" not in said(verdict)


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
    report = alive.report(verdict, {"a": True, "b": None})
    assert report.recent_git_activity is True
    assert [worker.recent_git_activity for worker in report.workers] == [True, None]
    assert "commit recently" in "\n".join(alive.failure_lines(verdict, {"a": True, "b": None}))


@pytest.mark.parametrize(
    ("activity", "answer"),
    [({}, None), ({"a": None}, None), ({"a": False}, False), ({"a": False, "b": None}, None)],
)
def test_activity_is_unknown_unless_all_is_known(gate, activity, answer):
    assert alive.report(gate("a"), activity).recent_git_activity is answer
