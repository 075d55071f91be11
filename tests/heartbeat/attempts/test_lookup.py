from datetime import timedelta

from heartbeat.given import NOW, put

from strawboss.heartbeat.attempts import dispatch
from strawboss.heartbeat.attempts.dispatch import Place
from strawboss.heartbeat.attempts.ledger import ledger_directory
from strawboss.heartbeat.attempts.lookup import dispatch_time
from strawboss.system.json_files import Broken


def begin(root, scope="s", worker="leaf-7", now=NOW):
    return dispatch.begin(Place(root, scope, "tree"), "r", worker, None, now)


def test_without_a_ledger_or_an_attempt_of_that_worker_nothing_is_said(tmp_path):
    assert dispatch_time(tmp_path, "leaf-7") is None
    begin(tmp_path, worker="leaf-8")
    begin(tmp_path, scope="t", worker=None)
    assert dispatch_time(tmp_path, "leaf-7") is None


def test_the_latest_active_attempt_counts(tmp_path):
    begin(tmp_path)
    begin(tmp_path, scope="t", now=NOW + timedelta(minutes=5))
    assert dispatch_time(tmp_path, "leaf-7") == NOW + timedelta(minutes=5)


def test_a_finished_attempt_does_not(tmp_path):
    begin(tmp_path)
    dispatch.complete(Place(tmp_path, "s", "tree"), "succeeded", None, NOW)
    assert dispatch_time(tmp_path, "leaf-7") is None


def test_a_damaged_unit_is_unknown_and_never_nothing(tmp_path):
    begin(tmp_path)
    put(ledger_directory(tmp_path) / ("f" * 64 + ".json"), b"{")
    assert isinstance(dispatch_time(tmp_path, "leaf-7"), Broken)


def test_a_start_that_is_no_time_is_unknown(tmp_path):
    begin(tmp_path)
    (file,) = ledger_directory(tmp_path).glob("*.json")
    file.write_text(file.read_text().replace("2026-10-03T12:00:00Z", "noon"))
    assert isinstance(dispatch_time(tmp_path, "leaf-7"), Broken)
