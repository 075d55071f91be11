import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from heartbeat.given import NOW, put, tree

from strawboss.heartbeat.attempts import dispatch
from strawboss.heartbeat.attempts.dispatch import Place
from strawboss.heartbeat.attempts.ledger import ledger_directory
from strawboss.heartbeat.precancel import Request, forced
from strawboss.heartbeat.utc import format_utc, utc_now

GREEN = forced(Request("leaf-7", "run-42", *[None] * 3, force=True, reason="seen dead"))
RED = GREEN.__class__(
    False, "leaf-7", "run-42", None, "heartbeat-fresh", None, None, "subagent:pre-cancel: no", 1
)


def begin(root, target="tree", worker="leaf-7", **changes):
    return dispatch.begin(Place(root, "s", target), "r", worker, None, NOW)


def cancel(root, outcome=GREEN, target="tree", attempt_id=None):
    return dispatch.end(
        Place(root, "s", target), "cancel", "cancelled", attempt_id, lambda _attempt: outcome, NOW
    )


def complete(root, status, attempt_id=None, outcome=RED):
    return dispatch.end(
        Place(root, "s", "tree"), "complete", status, attempt_id, lambda _attempt: outcome, NOW
    )


def test_begin_twice_is_denied_and_after_a_cleared_cancel_allowed(tmp_path):
    assert begin(tmp_path).exit_code == 0
    second = begin(tmp_path)
    assert (second.exit_code, second.decision) == (1, "DENY_DUPLICATE_ACTIVE")
    assert cancel(tmp_path).exit_code == 0
    assert begin(tmp_path).exit_code == 0


def test_a_refused_cancel_changes_nothing(tmp_path):
    begin(tmp_path)
    before = tree(tmp_path)
    refused = cancel(tmp_path, RED)
    assert refused.exit_code == 1
    assert refused.reason.startswith("pre-cancel refused:")
    assert tree(tmp_path) == before
    assert begin(tmp_path).decision == "DENY_DUPLICATE_ACTIVE"


def test_misuse_of_pre_cancel_is_misuse_of_cancel(tmp_path):
    begin(tmp_path)
    assert cancel(tmp_path, RED.__class__(False, "", "", None, "config", None, None, "x", 2)).exit_code == 2


def test_pre_cancel_is_asked_under_the_lock_and_told_the_attempt(tmp_path):
    begun = begin(tmp_path)
    asked = []

    def ask(attempt):
        asked.append((attempt.id, attempt.worker_id, attempt.started))
        assert list(ledger_directory(tmp_path).glob("*.json.lock"))
        return GREEN

    dispatch.end(Place(tmp_path, "s", "tree"), "cancel", "cancelled", None, ask, NOW)
    assert asked == [(begun.attempt["attemptId"], "leaf-7", NOW)]


@pytest.mark.parametrize("attempt_id", [None, "att-unknown"])
def test_nothing_to_cancel_or_complete_is_exit_1_and_writes_no_row(tmp_path, attempt_id):
    assert cancel(tmp_path, attempt_id=attempt_id).exit_code == 1
    assert complete(tmp_path, "failed", attempt_id).exit_code == 1
    assert not list(ledger_directory(tmp_path).glob("*.json"))


def test_an_attempt_already_closed_is_exit_1(tmp_path):
    begun = begin(tmp_path)
    cancel(tmp_path)
    assert cancel(tmp_path, attempt_id=begun.attempt["attemptId"]).exit_code == 1


def test_complete_ends_an_attempt_with_its_status(tmp_path):
    begin(tmp_path)
    done = complete(tmp_path, "failed")
    assert (done.exit_code, done.attempt["status"], done.active_attempt_ids) == (0, "failed", [])
    assert begin(tmp_path).decision == "ALLOW_TRANSIENT_RETRY"


@pytest.mark.parametrize("damage", [b"{half", b"", b"[]", b'{"attempts": [{}]}'])
def test_a_damaged_ledger_is_exit_2_and_stays_as_it_is(tmp_path, damage):
    begin(tmp_path)
    (file,) = ledger_directory(tmp_path).glob("*.json")
    file.write_bytes(damage)
    for outcome in (
        begin(tmp_path),
        cancel(tmp_path),
        complete(tmp_path, "failed"),
    ):
        assert outcome.exit_code == 2
        assert file.name in outcome.reason
    assert file.read_bytes() == damage


@pytest.mark.parametrize("status", ["succeeded", "failed", "blocked"])
def test_only_what_becomes_cancelled_is_asked_about(tmp_path, status):
    begin(tmp_path)
    assert complete(tmp_path, status).exit_code == 0


def test_completing_as_cancelled_is_a_cancel_and_passes_the_same_gate(tmp_path):
    begin(tmp_path)
    before = tree(tmp_path)
    refused = complete(tmp_path, "cancelled")
    assert (refused.exit_code, refused.decision) == (1, "REFUSED")
    assert tree(tmp_path) == before
    cleared = complete(tmp_path, "cancelled", outcome=GREEN)
    assert (cleared.exit_code, cleared.decision, cleared.attempt["status"]) == (0, "CANCELLED", "cancelled")


def test_a_damaged_unit_beside_ours_may_be_the_same_worktree_and_denies_a_begin(tmp_path):
    put(ledger_directory(tmp_path) / ("f" * 64 + ".json"), b"{")
    assert begin(tmp_path).exit_code == 2


def test_a_lock_held_by_a_living_process_is_exit_2(tmp_path):
    begin(tmp_path)
    (file,) = ledger_directory(tmp_path).glob("*.json")
    put(
        file.with_name(file.name + ".lock"),
        {"pid": os.getpid(), "token": "x", "startedAt": format_utc(utc_now())},
    )
    assert begin(tmp_path).exit_code == 2


def test_a_worktree_is_the_same_unit_relative_or_absolute_and_before_and_after_it_is_made(tmp_path):
    assert begin(tmp_path, "feat/x").exit_code == 0
    (tmp_path / "feat" / "x").mkdir(parents=True)
    for target in ("feat/x", "./feat/x/", str(tmp_path / "feat" / "x")):
        assert begin(tmp_path, target).decision == "DENY_DUPLICATE_ACTIVE"


def test_a_link_to_a_worktree_is_the_same_worktree(tmp_path):
    (tmp_path / "Tree").mkdir()
    (tmp_path / "alias").symlink_to("Tree")
    assert begin(tmp_path, "Tree").exit_code == 0
    assert begin(tmp_path, "alias").decision == "DENY_DUPLICATE_ACTIVE"
    assert cancel(tmp_path, RED, "alias").decision == "REFUSED"
    assert cancel(tmp_path, target="alias").decision == "CANCELLED"
    assert begin(tmp_path, "alias").exit_code == 0


def test_what_is_damaged_may_hold_the_attempt_that_is_to_be_ended(tmp_path):
    put(ledger_directory(tmp_path) / ("f" * 64 + ".json"), b"{")
    assert cancel(tmp_path).exit_code == 2
    assert complete(tmp_path, "failed").exit_code == 2


@pytest.mark.parametrize("target", ["./tree", "worktrees/a", "docs"])
def test_begin_makes_the_status_directory_of_any_directory_and_keeps_it_out_of_git(tmp_path, target):
    (tmp_path / target).mkdir(parents=True)
    begin(tmp_path, target)
    assert (tmp_path / target / ".deft-scratch" / "subagent-status").is_dir()
    assert (tmp_path / target / ".deft-scratch" / ".gitignore").read_text() == "*\n"


def test_begin_makes_no_worktree(tmp_path):
    begin(tmp_path, "./gone")
    assert not (tmp_path / "gone").exists()


def test_a_status_directory_that_cannot_be_made_begins_nothing(tmp_path):
    put(tmp_path / "tree" / ".deft-scratch", b"a file in its place")
    assert begin(tmp_path, "./tree").exit_code == 2
    assert not ledger_directory(tmp_path).exists()


def test_a_bare_worktree_name_means_the_worktree_for_cancel_as_for_begin(tmp_path):
    put(tmp_path / "bare" / ".git", b"")
    assert Place(tmp_path, "s", "bare").worktree.root == tmp_path / "bare"
    assert Place(tmp_path, "s", "gone").worktree is None


BEGIN = """
import sys
from pathlib import Path
from strawboss.heartbeat.attempts import dispatch
from strawboss.heartbeat.utc import utc_now
sys.stdin.readline()
outcome = dispatch.begin(dispatch.Place(Path(sys.argv[1]), "s", "./tree"), "r", sys.argv[2], None, utc_now())
print(outcome.exit_code, outcome.decision)
"""


def test_of_many_processes_that_begin_at_once_exactly_one_may(tmp_path):
    (tmp_path / "tree").mkdir()
    command = [sys.executable, "-c", BEGIN, str(tmp_path)]
    running = [
        subprocess.Popen(
            [*command, f"leaf-{number}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for number in range(6)
    ]
    with ThreadPoolExecutor(len(running)) as pool:
        said = list(pool.map(lambda process: process.communicate("go\n", timeout=60)[0].split(), running))
    assert sorted(said) == [["0", "ALLOW_FIRST_ATTEMPT"], *[["1", "DENY_DUPLICATE_ACTIVE"]] * 5]
    (file,) = ledger_directory(tmp_path).glob("*.json")
    assert len(json.loads(file.read_text())["attempts"]) == 1
