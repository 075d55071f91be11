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
    assert run("occupancy", "show").out == "occupancy: free\n"
    assert claim("session-1").code == 0
    assert "live, session session-1, intent mutation" in run("occupancy", "show").out
    assert run("occupancy", "release", "--session-id", "session-1").code == 0
    assert run("occupancy", "show").out == "occupancy: free\n"


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
    assert claim("session-2").code == 0


def test_a_session_asks_whether_it_may_write_here(tree):
    assert run("occupancy", "show", "--session-id", "session-2").code == 0
    claim("session-1")
    assert run("occupancy", "show", "--session-id", "session-1").code == 0
    ran = run("occupancy", "show", "--session-id", "session-2", "--json")
    assert (ran.code, ran.json["may_write"]) == (1, False)
    msgspec.json.decode(ran.out, type=schemas.OccupancyReport)
    assert run("occupancy", "show", "--json").json["may_write"] is None


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
