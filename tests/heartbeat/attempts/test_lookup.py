import json
from datetime import timedelta

import pytest
from heartbeat.given import NOW, in_use, put

from strawboss.heartbeat.attempts import dispatch
from strawboss.heartbeat.attempts.dispatch import Place
from strawboss.heartbeat.attempts.ledger import ledger_directory
from strawboss.heartbeat.attempts.lookup import dispatch as look_up
from strawboss.heartbeat.classify import Known
from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.occupancy import record_child
from strawboss.system.json_files import Broken


def begin(root, scope="s", worker="leaf-7", now=NOW):
    return dispatch.begin(Place(root, scope, "tree"), "r", worker, None, now)


def looked_up(root, *, agent="leaf-7", tree="elsewhere"):
    return look_up(root, agent, [Worktree(root / tree).status_directory]).started


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
    assert look_up(None, "leaf-7", scratch).started == NOW


def test_of_a_linked_worktree_elsewhere_it_is_its_clones(tmp_path):
    clone, tree = tmp_path / "clone", tmp_path / "tree"
    (clone / ".git" / "worktrees" / "tree").mkdir(parents=True)
    put(tree / ".git", f"gitdir: {clone}/.git/worktrees/tree\n".encode())
    begin(clone)
    assert look_up(None, "leaf-7", [Worktree(tree).status_directory]).started == NOW


def test_a_named_ledger_alone_counts(tmp_path):
    put(tmp_path / ".git", b"")
    begin(tmp_path)
    directory = Worktree(tmp_path / "tree").status_directory
    assert look_up(tmp_path / "other", "leaf-7", [directory]).started is None


def known(root, agent="leaf-7", tree="tree"):
    return look_up(root, agent, [Worktree(root / tree).status_directory])


def test_whom_the_attempts_of_a_worktree_name_is_known(tmp_path):
    assert known(tmp_path) == Known()
    begin(tmp_path, worker="leaf-8")
    assert known(tmp_path) == Known(others=("leaf-8",))
    begin(tmp_path, scope="t", worker=None)
    assert known(tmp_path) == Known(NOW, nameless=True, others=("leaf-8",))
    begin(tmp_path, scope="u")
    assert known(tmp_path) == Known(NOW, named=True, nameless=True, others=("leaf-8",))


def test_an_attempt_of_another_worktree_that_is_in_use_is_elsewhere(tmp_path):
    begin(tmp_path)
    assert known(tmp_path, tree="other") == Known(NOW, named=True)
    in_use(tmp_path / "tree")
    assert known(tmp_path, tree="other") == Known(NOW, named=True, elsewhere=str(tmp_path / "tree"))
    dispatch.begin(Place(tmp_path, "t", "other"), "r", "leaf-7", None, NOW)
    assert known(tmp_path, tree="other").elsewhere == ""


def test_a_unit_of_another_tool_is_of_its_worktree_though_it_has_no_path(tmp_path):
    begin(tmp_path / "P", worker="leaf-8")
    (file,) = ledger_directory(tmp_path / "P").glob("*.json")
    unit = json.loads(file.read_text())
    del unit["targetPath"]
    file.write_text(json.dumps(unit))
    assert known(tmp_path / "P").others == ("leaf-8",)


def test_a_child_lease_names_it_too(tmp_path):
    record_child(Worktree(tmp_path / "tree"), "leaf-7", "run-42", "run-42", "")
    assert known(tmp_path) == Known(named=True)
    assert known(tmp_path, agent="leaf-8") == Known()
