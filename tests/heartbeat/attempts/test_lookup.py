from datetime import timedelta

import pytest
from heartbeat.given import NOW, put

from strawboss.heartbeat.attempts import dispatch
from strawboss.heartbeat.attempts.dispatch import Place
from strawboss.heartbeat.attempts.ledger import ledger_directory
from strawboss.heartbeat.attempts.lookup import dispatch_time
from strawboss.heartbeat.layout import Worktree
from strawboss.system.json_files import Broken


def begin(root, scope="s", worker="leaf-7", now=NOW):
    return dispatch.begin(Place(root, scope, "tree"), "r", worker, None, now)


def looked_up(root, *, agent="leaf-7", tree="elsewhere"):
    return dispatch_time(root, agent, [Worktree(root / tree).status_directory])


def test_without_a_ledger_or_an_attempt_of_that_worker_nothing_is_said(tmp_path):
    assert looked_up(tmp_path) is None
    begin(tmp_path, worker="leaf-8")
    begin(tmp_path, scope="t", worker=None)
    assert looked_up(tmp_path) is None


def test_the_latest_active_attempt_counts(tmp_path):
    begin(tmp_path)
    begin(tmp_path, scope="t", now=NOW + timedelta(minutes=5))
    assert looked_up(tmp_path) == NOW + timedelta(minutes=5)


def test_a_finished_attempt_does_not(tmp_path):
    begin(tmp_path)
    dispatch.end(Place(tmp_path, "s", "tree"), "complete", "succeeded", None, pytest.fail, NOW)
    assert looked_up(tmp_path) is None


def test_a_damaged_unit_is_unknown_and_never_nothing(tmp_path):
    begin(tmp_path)
    put(ledger_directory(tmp_path) / ("f" * 64 + ".json"), b"{")
    assert isinstance(looked_up(tmp_path), Broken)


def test_a_start_that_is_no_time_is_unknown(tmp_path):
    begin(tmp_path)
    (file,) = ledger_directory(tmp_path).glob("*.json")
    file.write_text(file.read_text().replace("2026-10-03T12:00:00Z", "noon"))
    assert isinstance(looked_up(tmp_path), Broken)


def test_an_attempt_without_a_worker_may_be_anybodys_of_its_worktree(tmp_path):
    (tmp_path / "tree").mkdir()
    begin(tmp_path, worker=None)
    assert looked_up(tmp_path, tree="tree") == NOW
    assert looked_up(tmp_path, tree="other") is None


def test_the_worktree_is_known_through_a_link_too(tmp_path):
    (tmp_path / "tree").mkdir()
    (tmp_path / "alias").symlink_to("tree")
    begin(tmp_path, worker=None)
    assert looked_up(tmp_path, tree="alias") == NOW


def test_an_attempt_of_another_worker_is_not(tmp_path):
    begin(tmp_path, worker="leaf-8")
    assert looked_up(tmp_path, tree="tree") is None


@pytest.mark.parametrize("target", ["tree", "tree/src"])
def test_without_a_ledger_of_its_own_named_it_is_that_of_the_worktrees_project(tmp_path, target):
    put(tmp_path / ".git", b"")
    begin(tmp_path)
    scratch = [Worktree(tmp_path / target).status_directory, Worktree(tmp_path / "other").status_directory]
    assert dispatch_time(None, "leaf-7", scratch) == NOW


def test_of_a_linked_worktree_elsewhere_it_is_its_clones(tmp_path):
    clone, tree = tmp_path / "clone", tmp_path / "tree"
    (clone / ".git" / "worktrees" / "tree").mkdir(parents=True)
    put(tree / ".git", f"gitdir: {clone}/.git/worktrees/tree\n".encode())
    begin(clone)
    assert dispatch_time(None, "leaf-7", [Worktree(tree).status_directory]) == NOW


def test_a_named_ledger_alone_counts(tmp_path):
    put(tmp_path / ".git", b"")
    begin(tmp_path)
    assert dispatch_time(tmp_path / "other", "leaf-7", [Worktree(tmp_path / "tree").status_directory]) is None
