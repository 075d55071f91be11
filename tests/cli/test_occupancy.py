import msgspec
import pytest
from heartbeat.commands import run
from heartbeat.given import ago, put

from strawboss.heartbeat import schemas
from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.utc import utc_now
from strawboss.system.json_files import read_object, write_json


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DEFT_SESSION_ID", raising=False)
    return Worktree(tmp_path)


def claim(session, *more):
    return run("occupancy", "claim", "--session-id", session, *more)


def test_a_worktree_is_free_claimed_and_free_again(tree):
    free = "occupancy: free\nmay write: free: no lease\n"
    assert run("occupancy", "show").out == free
    assert claim("session-1").code == 0
    assert "live, session session-1, intent mutation" in run("occupancy", "show").out
    assert run("occupancy", "release", "--session-id", "session-1").code == 0
    assert run("occupancy", "show").out == free


def test_a_stranger_is_denied_with_another_worktree_first_and_changes_nothing(tree):
    claim("session-1")
    before = tree.occupancy_file.read_bytes()
    for ran in (claim("session-2"), run("occupancy", "release", "--session-id", "session-2")):
        assert (ran.code, ran.out) == (1, "")
    assert "another worktree" in claim("session-2").err
    assert tree.occupancy_file.read_bytes() == before


def test_a_dead_holder_frees_the_tree(tree):
    claim("session-1")
    old = ago(minutes=21, now=utc_now())
    write_json(tree.occupancy_file, read_object(tree.occupancy_file) | {"heartbeat_at": old})
    assert "heartbeat-stale" in run("occupancy", "show").out
    taken = claim("session-2")
    assert (taken.code, taken.err) == (0, "note: replaced the heartbeat-stale lease of session-1\n")


def test_a_session_asks_whether_it_may_write_here(tree):
    assert run("occupancy", "show", "--session-id", "session-2").code == 0
    claim("session-1")
    assert run("occupancy", "show", "--session-id", "session-1").code == 0
    ran = run("occupancy", "show", "--session-id", "session-2", "--json")
    assert (ran.code, ran.json["may_write"]) == (1, False)
    msgspec.json.decode(ran.out, type=schemas.OccupancyReport)


def test_whoever_does_not_say_who_it_is_is_a_stranger(tree):
    assert run("occupancy", "show").code == 0
    claim("session-1")
    ran = run("occupancy", "show", "--json")
    assert (ran.code, ran.json["may_write"]) == (1, False)


def test_a_child_is_recorded_for_its_parent(tree):
    assert claim("session-1", "--child", "leaf-7", "--parent-id", "run-42").code == 0
    lease = read_object(tree.child_lease_file("leaf-7"))
    assert (lease["agent_id"], lease["parent_id"], lease["occupancy_owner"]) == (
        "leaf-7",
        "run-42",
        "session-1",
    )
    assert not tree.occupancy_file.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("claim",),
        ("claim", "--session-id", " "),
        ("claim", "--session-id", "s", "--intent", "play"),
        ("claim", "--session-id", "s", "--child", "../x"),
        ("claim", "--session-id", "s", "--target-id", "gone"),
        ("release",),
        ("take",),
        ("show", "--target-id", "gone"),
        ("release", "--session-id", "s", "--target-id", "gone"),
    ],
)
def test_wrong_use_is_one_line_and_exit_2(tree, arguments):
    ran = run("occupancy", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert list(tree.root.iterdir()) == []


def test_a_place_that_cannot_be_written_is_one_line_and_exit_2(tree):
    put(tree.root / ".deft", b"a file in its place")
    ran = claim("session-1")
    assert (ran.code, ran.err.count("\n")) == (2, 1)


def test_a_child_that_changes_its_parent_is_said(tree):
    claim("session-1", "--child", "leaf-7", "--parent-id", "run-42")
    assert claim("session-1", "--child", "leaf-7", "--parent-id", "run-42").err == ""
    assert claim("session-1", "--child", "leaf-7", "--parent-id", "run-43").err == (
        "note: replaced its parent run-42\n"
    )


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("claim", "--session-id", "session-1"), 0),
        (("claim", "--session-id", "session-2"), 1),
        (("release", "--session-id", "session-2"), 1),
        (("release", "--session-id", "session-1"), 0),
        (("claim", "--session-id", "session-1", "--child", "leaf-7"), 0),
    ],
)
def test_with_json_every_outcome_is_json(tree, arguments, code):
    claim("session-1")
    ran = run("occupancy", *arguments, "--json")
    msgspec.json.decode(ran.out, type=schemas.Done)
    assert (ran.code, ran.json["exit_code"], ran.err) == (code, code, "")


@pytest.mark.parametrize("command", ["show", "claim", "release"])
def test_with_json_wrong_use_is_json_too(tree, command):
    ran = run("occupancy", command, "--json", "--target-id", "gone", "--session-id", "s")
    msgspec.json.decode(ran.out, type=schemas.Complaint)
    assert ran.code == 2


def test_a_subdirectory_is_the_same_worktree(tree, monkeypatch):
    put(tree.root / ".git", b"")
    (tree.root / "src").mkdir()
    monkeypatch.chdir(tree.root / "src")
    claim("session-1")
    assert tree.occupancy_file.exists()
    assert list((tree.root / "src").iterdir()) == []
