import hashlib
from datetime import timedelta
from pathlib import Path

import pytest
from heartbeat.given import NOW, ago, put

from strawboss.heartbeat.attempts import ledger
from strawboss.heartbeat.attempts.ledger import Unit, UnitKey, target_key
from strawboss.system.json_files import Broken, read_object

KEY = UnitKey("scope-1", "/w/tree", "drive-to:merge-ready")
ROW = {
    "attemptId": "att-1",
    "sourceRevision": "r",
    "trigger": "automatic",
    "status": "running",
    "startedAt": ago(60),
}


def unit_file(tmp_path, attempts, **also):
    fields = {"scopeId": KEY.scope, "targetId": KEY.target, "workflowId": KEY.workflow, "attempts": attempts}
    return put(tmp_path / KEY.file_name, fields | also)


def test_a_unit_lies_where_other_tools_look_for_it():
    text = "scope-1\x1f/w/tree\x1fdrive-to:merge-ready"
    assert KEY.file_name == hashlib.sha256(text.encode()).hexdigest() + ".json"


@pytest.mark.parametrize("target", ["feat/X", "./feat/X/", "/P/feat/X", "feat/../feat/x", "/p/FEAT/x//"])
def test_one_worktree_is_one_unit_however_it_is_spelled(target):
    assert target_key(target, Path("/P")) == "/p/feat/x"


def test_links_in_a_target_are_kept_as_given(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)
    assert target_key("link", tmp_path) == f"{tmp_path}/link".lower()


def test_a_written_unit_holds_every_key_other_tools_expect_and_reads_back(tmp_path):
    attempt = ledger.new_attempt("abc", NOW, "leaf-7", None, "automatic")
    ledger.write_unit(tmp_path, ledger.begun(Unit(KEY), attempt), NOW)
    content = read_object(tmp_path / KEY.file_name)
    assert {
        "schemaVersion", "scopeId", "targetId", "workflowId", "phaseId", "attempts", "failedAttemptCount",
        "sameFailureCounts", "totalElapsedSeconds", "totalToolCallCount", "totalHostTokenCount", "lastFailure",
        "lastMaterialDelta", "lastSourceRevision", "blockedDecision", "resumeCondition", "override", "updatedAt",
    } == set(content)  # fmt: skip
    assert {
        "attemptId", "sourceRevision", "trigger", "status", "failure", "materialDelta", "startedAt", "endedAt",
        "elapsedSeconds", "toolCallCount", "hostTokenCount", "workerId", "externalRunId",
    } == set(content["attempts"][0])  # fmt: skip
    unit = ledger.read_unit(tmp_path / KEY.file_name)
    assert (unit.key, unit.active[0].worker_id, unit.active[0].started) == (KEY, "leaf-7", NOW)


def test_keys_of_other_tools_survive(tmp_path):
    unit_file(tmp_path, [ROW | {"note": "keep"}], somebody="else", override={"by": "x"})
    unit = ledger.read_unit(tmp_path / KEY.file_name)
    ledger.write_unit(tmp_path, ledger.closed(unit, unit.attempts[0], "failed", NOW), NOW)
    content = read_object(tmp_path / KEY.file_name)
    assert (content["somebody"], content["override"], content["attempts"][0]["note"]) == (
        "else",
        {"by": "x"},
        "keep",
    )


@pytest.mark.parametrize(
    ("status", "active"),
    [
        ("queued", True),
        ("running", True),
        ("paused", True),
        ("succeeded", False),
        ("failed", False),
        ("cancelled", False),
        ("blocked", False),
    ],
)
def test_an_attempt_is_active_until_it_is_known_to_be_finished(tmp_path, status, active):
    unit_file(tmp_path, [ROW | {"status": status}])
    assert bool(ledger.read_unit(tmp_path / KEY.file_name).active) is active


@pytest.mark.parametrize("field", ["attemptId", "sourceRevision", "trigger", "status", "startedAt"])
@pytest.mark.parametrize("value", [None, "", 7])
def test_a_row_that_cannot_be_understood_spoils_the_unit(tmp_path, field, value):
    unit_file(tmp_path, [ROW | {field: value}])
    assert isinstance(ledger.read_unit(tmp_path / KEY.file_name), Broken)


@pytest.mark.parametrize("attempts", [None, {}, "x", [7], [[]]])
def test_attempts_that_are_no_rows_spoil_the_unit(tmp_path, attempts):
    unit_file(tmp_path, attempts)
    assert isinstance(ledger.read_unit(tmp_path / KEY.file_name), Broken)


def test_a_missing_unit_is_none_and_a_damaged_one_is_not(tmp_path):
    assert ledger.read_unit(tmp_path / KEY.file_name) is None
    put(tmp_path / KEY.file_name, b"{half")
    assert "malformed JSON" in ledger.read_unit(tmp_path / KEY.file_name).reason


def test_all_units_are_listed_without_locks_and_strangers(tmp_path):
    unit_file(tmp_path, [ROW])
    for name in (KEY.file_name + ".lock", "notes.json", ".x.tmp"):
        put(tmp_path / name, b"{")
    assert [type(unit) for unit in ledger.all_units(tmp_path)] == [Unit]
    assert list(ledger.all_units(tmp_path / "gone")) == []
    assert [type(unit) for unit in ledger.all_units(tmp_path / "notes.json")] == [Broken]


@pytest.mark.parametrize(
    ("status", "failures", "elapsed"),
    [("succeeded", 0, 60), ("failed", 1, 60), ("blocked", 1, 60), ("cancelled", 0, 0)],
)
def test_a_cancelled_attempt_is_no_failure_and_costs_no_budget(tmp_path, status, failures, elapsed):
    unit_file(tmp_path, [ROW])
    unit = ledger.read_unit(tmp_path / KEY.file_name)
    after = ledger.closed(unit, unit.attempts[0], status, NOW)
    assert after.attempts[0].raw["endedAt"] == ago(0)
    assert after.attempts[0].raw["elapsedSeconds"] == 60
    assert (after.number("failedAttemptCount"), after.number("totalElapsedSeconds")) == (failures, elapsed)
    assert after.active == ()


def test_an_attempt_of_the_future_took_no_time(tmp_path):
    unit_file(tmp_path, [ROW | {"startedAt": ago(-600)}])
    unit = ledger.read_unit(tmp_path / KEY.file_name)
    assert (
        ledger.closed(unit, unit.attempts[0], "failed", NOW + timedelta(0)).number("totalElapsedSeconds") == 0
    )
