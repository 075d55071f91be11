import pytest
from heartbeat.given import NOW, ago, beat, put

from strawboss.heartbeat.authority import read_claims, refusal
from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.occupancy import NOBODY, child_lease, claim


@pytest.fixture
def tree(tmp_path):
    return Worktree(tmp_path)


def refused(tree, writer_id, writer_kind="dispatching-parent"):
    return refusal(read_claims(tree, "leaf-7", NOW), writer_kind, writer_id)


def lease(tree, parent="run-42", owner="session-1"):
    put(tree.child_lease_file("leaf-7"), child_lease(tree, "leaf-7", parent, owner, ""))


def occupy(tree, session):
    put(tree.occupancy_file, claim(tree, session, "swarm", NOBODY, NOW))


def test_without_lease_and_heartbeat_nobody_may_steer(tree):
    assert "child occupancy lease" in refused(tree, "run-42")


def test_the_parent_in_the_child_lease_may(tree):
    lease(tree)
    assert refused(tree, "run-42") is None
    assert "another parent" in refused(tree, "run-43")


def test_the_parent_in_a_sound_heartbeat_may(tree, tmp_path):
    beat(tmp_path)
    assert refused(tree, "run-42") is None
    assert "another parent" in refused(tree, "run-43")


@pytest.mark.parametrize(
    "fault", [{"phase": "poling"}, {"agent_id": "x"}, {"last_heartbeat_at": ago(hours=-1)}]
)
def test_the_parent_in_a_broken_heartbeat_may_not(tree, tmp_path, fault):
    beat(tmp_path, **fault)
    assert refused(tree, "run-42") is not None


def test_lease_and_heartbeat_that_contradict_each_other_give_nobody_a_right(tree, tmp_path):
    beat(tmp_path)
    lease(tree, parent="run-43")
    assert refused(tree, "run-42") is not None
    assert refused(tree, "run-43") is not None


@pytest.mark.parametrize("what", [b"{", {"agent_id": "leaf-8", "parent_id": "run-42"}])
def test_a_broken_or_foreign_lease_gives_nobody_a_right_not_even_beside_a_heartbeat(tree, tmp_path, what):
    beat(tmp_path)
    put(tree.child_lease_file("leaf-7"), what)
    assert "cannot be used" in refused(tree, "run-42")


def test_the_live_occupant_may_unless_the_lease_names_another(tree):
    assert "no live occupancy" in refused(tree, "session-1", "occupancy-owner")
    occupy(tree, "session-1")
    assert refused(tree, "session-1", "occupancy-owner") is None
    assert "no live occupancy" in refused(tree, "session-2", "occupancy-owner")
    lease(tree, owner="session-9")
    assert "another owner" in refused(tree, "session-1", "occupancy-owner")


def test_a_heartbeat_makes_nobody_an_occupant(tree, tmp_path):
    beat(tmp_path, occupancy_owner="run-42")
    assert refused(tree, "run-42", "occupancy-owner") is not None
