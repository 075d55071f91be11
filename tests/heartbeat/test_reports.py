"""What people reported of agents falsely alive, falsely dead, and of clocks, pids and locks: one fixture a report."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from heartbeat.given import dead_pid, put, tree

from strawboss.heartbeat import alive, monitor, precancel, writer
from strawboss.heartbeat.attempts import dispatch
from strawboss.heartbeat.attempts.dispatch import Place
from strawboss.heartbeat.classify import judge, status
from strawboss.heartbeat.clocks import SleepClock
from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.record import Beat
from strawboss.heartbeat.sweep import Sweep, sweep
from strawboss.heartbeat.utc import format_utc, parse_utc, utc_now
from strawboss.system import files
from strawboss.system.json_files import read_object

REPORTS = Path(__file__).parents[2] / "fixtures" / "heartbeat" / "reports"


@dataclass
class Report:
    """A fixture laid out in a worktree."""

    given: dict[str, Any]
    worktree: Worktree

    @property
    def now(self) -> datetime:
        return moment(self.given["now"])

    @property
    def dispatched(self) -> datetime | None:
        return moment(self.given["dispatched_at"]) if "dispatched_at" in self.given else None

    @property
    def clock(self) -> SleepClock | None:
        return SleepClock(**self.given["clock"]) if "clock" in self.given else None

    def swept(self) -> Sweep:
        return sweep([str(self.worktree.status_directory)], self.now)

    def asked(self, agent: str = "leaf-7") -> str:
        tree = self.worktree
        directories = (tree.steer_directory, tree.status_directory, tree.first_seen_directory)
        outcome = precancel.check(
            precancel.Request(agent, "run-42", *directories, dispatched=self.dispatched), self.now
        )
        return outcome.clear_reason or outcome.refuse_reason or ""

    def judged(self) -> alive.Verdict:
        agents = tuple(record.label for record in self.swept().records) or ("leaf-7",)
        return alive.decide(self.swept(), agents, lambda _agent: self.dispatched)

    def holds(self) -> None:
        """Everything the fixture expects of monitor, gate and pre-cancel."""
        expected, verdict, swept = self.given["expect"], self.judged(), self.swept()
        assert monitor.exit_code(swept) == expected["monitor"]
        assert verdict.exit_code == expected["alive"]
        assert alive.report(verdict, {}).redispatch_agents == expected["redispatch"]
        for row in monitor.report(swept, self.clock).records:
            assert [note.partition(":")[0] for note in row.notes] == expected.get("notes", [])
        if "pre_cancel" in expected:
            assert self.asked() == expected["pre_cancel"]


def moment(text: str) -> datetime:
    found = parse_utc(text)
    assert found is not None
    return found


@pytest.fixture
def report(tmp_path, request):
    """The fixture named by the test: its records as files, last written when the fixture says."""
    name = re.match(r"test_(r\d\d)_", request.node.name)[1].upper()
    given = json.loads((REPORTS / f"{name}.json").read_text())
    laid_out = Report(given, Worktree(tmp_path / "tree"))
    for agent, content in given.get("records", {}).items():
        path = put(
            laid_out.worktree.heartbeat_file(agent), content.encode() if isinstance(content, str) else content
        )
        beat_at = (
            content.get("last_heartbeat_at", given["now"]) if isinstance(content, dict) else given["now"]
        )
        written = moment(given.get("written_at", beat_at)).timestamp()
        os.utime(path, (written, written))
    return laid_out


def test_r25_a_replace_that_a_scanner_disturbs_is_tried_again_for_sharing_errors_only(report, mocker):
    directory = report.worktree.status_directory
    really, beat = Path.replace, Beat("leaf-7", "run-42", "polling", "new")
    for case in report.given["cases"]:
        path = put(directory / "leaf-7.json", report.given["before"])
        errors = iter(case["winerrors"])

        def replace(self, target, errors=errors):
            if (code := next(errors, None)) is None:
                return really(self, target)
            error = PermissionError(13, "held")
            error.winerror = code
            raise error

        mocker.patch.object(Path, "replace", replace)
        mocker.patch.object(files._replace, "__defaults__", (lambda _seconds: None,))
        if case["written"]:
            writer.write(directory, beat, report.now)
        else:
            with pytest.raises(PermissionError):
                writer.write(directory, beat, report.now)
        mocker.stopall()
        assert read_object(path)["last_message"] == ("new" if case["written"] else "poll 3 of 20")
        assert [each.name for each in directory.glob("*.tmp")] == []


def test_r58_recent_commits_stand_beside_the_verdict_on_a_stale_worker(report):
    root, at = report.worktree.root, report.given["commit_at"]
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.invalid"]
    for command in (["init"], [*identity, "commit", "--allow-empty", "-m", "x"]):
        dated = {**os.environ, "GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}
        subprocess.run(["git", "-C", str(root), *command], check=True, capture_output=True, env=dated)
    report.holds()
    verdict = report.judged()
    told = alive.report(verdict, alive.recent_activity(verdict, None))
    assert told.recent_git_activity is report.given["expect"]["recent_git_activity"]


def test_r59_monitor_gate_and_pre_cancel_class_every_record_alike(report):
    swept = report.swept()
    for agent, (word, standing, reason) in report.given["classes"].items():
        records = [record for record in swept.records if record.stem == agent]
        assert [status(record).value for record in records] == ([word] if word else [])
        assert judge(agent, swept.records, report.dispatched, report.now).standing.value == standing
        assert report.asked(agent) == reason


def test_r60_a_missing_directory_a_young_worker_and_a_dead_one_are_three_things(report):
    for case in report.given["cases"]:
        if case["directory"]:
            report.worktree.status_directory.mkdir(parents=True, exist_ok=True)
        report.given["dispatched_at"] = case["dispatched_at"]
        verdict = report.judged()
        assert verdict.exit_code == case["alive"]
        assert ("REDISPATCH_OK" in "\n".join(alive.failure_lines(verdict, {}))) is case["word"]


def test_r61_an_absurd_age_is_a_suspect_source(report):
    report.holds()


def test_r62_what_the_writer_writes_is_what_every_gate_reads(report):
    report.worktree.root.mkdir(exist_ok=True)
    writer.write(report.worktree.status_directory, Beat(**report.given["beat"]), report.now)
    report.holds()


def test_r63_a_planned_wait_with_a_fresh_beat_is_healthy(report):
    report.holds()


def test_r64_a_stall_ends_in_a_visible_line(report):
    report.holds()
    (line,) = monitor.lines(report.swept(), None)
    said = f"{line.label} -- {line.status.value} {line.next_step}\n{monitor.result_line(report.swept())}"
    assert all(part in said for part in report.given["lines"])


def test_r72_time_alone_proves_no_loss(report):
    report.holds()


def test_r73_sleep_is_shown_as_sleep(report):
    report.holds()


def test_r74_a_look_only_looks(report):
    before = tree(report.worktree.root)
    report.holds()
    assert tree(report.worktree.root) == before


def test_r76_an_old_time_in_a_young_file_is_clock_skew(report):
    report.holds()


def test_r77_a_lock_of_the_future_without_a_holder_is_taken(report):
    assert begins(report, report.given["lock"] | {"pid": dead_pid()}) == 0


def test_r78_a_pid_of_an_earlier_boot_blocks_nobody_and_a_living_holder_everybody(report):
    for case in report.given["cases"]:
        started = format_utc(utc_now()) if case["startedAt"] == "now" else case["startedAt"]
        lock = {"pid": os.getpid(), "token": "t", "startedAt": started}
        assert begins(report, lock, scope=case["startedAt"]) == case["exit"]


def begins(report, lock, scope="s"):
    place = Place(report.worktree.root, scope, "tree")
    put(place.directory / f"{place.key.file_name}.lock", lock)
    return dispatch.begin(place, "r", "leaf-7", None, report.now).exit_code


def test_every_fixture_has_a_test_of_its_name():
    tests = {name.split("_")[1].upper() for name in globals() if re.match(r"test_r\d\d_", name)}
    assert tests == {path.stem for path in REPORTS.iterdir()}
