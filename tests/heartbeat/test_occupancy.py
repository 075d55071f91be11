import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from heartbeat.given import NOW, ago, put

from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.occupancy import (
    NOBODY,
    OCCUPANCY_TTL,
    RITUAL_STALENESS,
    ChildLease,
    LeaseState,
    child_lease,
    claim,
    give_back,
    read_child_lease,
    read_occupancy,
    record_child,
    take,
    write_gate,
)
from strawboss.heartbeat.utc import utc_now
from strawboss.system.json_files import Broken, write_json


@pytest.fixture
def tree(tmp_path):
    return Worktree(tmp_path)


@pytest.fixture
def lease(tree):
    """Writes a lease of session-1 with changes and reads it back."""

    def lease(now=NOW, **changes):
        put(tree.occupancy_file, claim(tree, "session-1", "mutation", NOBODY, NOW) | changes)
        return read_occupancy(tree, now)

    return lease


def test_the_ritual_outlives_the_lease_24_to_1():
    assert timedelta(minutes=20) == OCCUPANCY_TTL
    assert RITUAL_STALENESS / OCCUPANCY_TTL == 24


@pytest.mark.parametrize("what", [None, b"", b"{", {"session_id": ""}, {"session_id": 7}, {}])
def test_a_missing_or_broken_lease_is_none_and_the_tree_is_free(tree, what):
    if what is not None:
        put(tree.occupancy_file, what)
    found = read_occupancy(tree, NOW)
    assert found == NOBODY
    assert write_gate(found, "anybody").allowed
    assert write_gate(found, "").allowed


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, LeaseState.LIVE),
        ({"heartbeat_at": ago(minutes=20)}, LeaseState.LIVE),
        ({"heartbeat_at": ago(minutes=20, seconds=1)}, LeaseState.HEARTBEAT_STALE),
        ({"heartbeat_at": "noon"}, LeaseState.HEARTBEAT_STALE),
        ({"claimed_at": ago(hours=12)}, LeaseState.LIVE),
        ({"claimed_at": ago(hours=12, seconds=1)}, LeaseState.AGE_CAPPED),
        ({"claimed_at": ago(hours=13), "heartbeat_at": ago(hours=13)}, LeaseState.AGE_CAPPED),
        ({"worktree_path": "/elsewhere"}, LeaseState.OTHER_TREE),
        ({"worktree_path": None}, LeaseState.OTHER_TREE),
    ],
)
def test_how_live_a_lease_is(lease, changes, state):
    assert lease(**changes).state is state


GRANT = {"session_id": "friend", "expires_at": ago(-60)}
OVER = {"session_id": "friend", "expires_at": ago(1)}


@pytest.mark.parametrize(
    ("changes", "presenter", "allowed"),
    [
        # unknown lease: fails open
        ({"heartbeat_at": ago(hours=1)}, "stranger", True),
        ({"worktree_path": "/elsewhere"}, "stranger", True),
        ({"claimed_at": ago(hours=13)}, "stranger", True),
        # unknown identity on a live lease: fails closed
        ({}, "stranger", False),
        ({}, "", False),
        ({"grants": [OVER, "x", {"session_id": "friend"}]}, "friend", False),
        # members
        ({}, "session-1", True),
        ({"grants": [GRANT]}, "friend", True),
        ({"claimed_at": ago(hours=13)}, "session-1", False),
        ({"claimed_at": ago(hours=13), "grants": [GRANT]}, "friend", False),
    ],
)
def test_the_two_axis_policy(lease, changes, presenter, allowed):
    assert write_gate(lease(**changes), presenter).allowed is allowed


def test_a_denial_calls_itself_advisory_and_puts_another_worktree_first(lease):
    reason = write_gate(lease(), "stranger").reason
    assert "advisory coordination" in reason
    remedies = [reason.index(word) for word in ("another worktree", "grant", "read-only")]
    assert remedies == sorted(remedies)
    assert "steal" not in reason


def test_a_claim_is_live_and_a_renewal_keeps_its_claim_time_and_grants(tree, lease):
    before = lease(claimed_at=ago(hours=1), heartbeat_at=ago(minutes=10), grants=[GRANT])
    renewed = claim(tree, "session-1", "swarm", before, NOW)
    assert renewed["claimed_at"] == ago(hours=1)
    assert renewed["heartbeat_at"] == ago(0)
    assert renewed["grants"] == [GRANT]
    write_json(tree.occupancy_file, renewed)
    assert read_occupancy(tree, NOW).state is LeaseState.LIVE


def test_a_stale_lease_of_another_session_leaves_nothing_behind(tree, lease):
    before = lease(heartbeat_at=ago(hours=1), grants=[GRANT])
    taken = claim(tree, "session-2", "mutation", before, NOW)
    assert (taken["session_id"], taken["claimed_at"], "grants" in taken) == ("session-2", ago(0), False)


def test_a_child_lease_reads_back(tree):
    assert read_child_lease(tree, "leaf-7") is None
    write_json(tree.child_lease_file("leaf-7"), child_lease(tree, "leaf-7", "run-42", "session-1", "i-1"))
    assert read_child_lease(tree, "leaf-7") == ChildLease("leaf-7", "run-42", "session-1")


@pytest.mark.parametrize("what", [b"{", {"agent_id": "leaf-8"}, {}])
def test_a_broken_child_lease_is_not_missing(tree, what):
    put(tree.child_lease_file("leaf-7"), what)
    assert isinstance(read_child_lease(tree, "leaf-7"), Broken)


def test_a_free_tree_is_taken_renewed_and_given_back(tree):
    assert give_back(tree, "session-1", NOW).allowed
    assert take(tree, "session-1", "mutation", NOW).allowed
    assert take(tree, "session-1", "review", NOW + timedelta(minutes=5)).allowed
    assert read_occupancy(tree, NOW).intent == "review"
    assert give_back(tree, "session-1", NOW).allowed
    assert read_occupancy(tree, NOW) == NOBODY


def test_a_held_one_is_neither_taken_nor_given_back_by_another(tree):
    take(tree, "session-1", "mutation", NOW)
    before = tree.occupancy_file.read_bytes()
    assert "advisory" in take(tree, "session-2", "mutation", NOW).reason
    assert "session-1's" in give_back(tree, "session-2", NOW).reason
    assert tree.occupancy_file.read_bytes() == before


def test_what_a_claim_took_the_place_of_is_said(tree, lease):
    lease(heartbeat_at=ago(hours=1))
    assert take(tree, "session-2", "mutation", NOW).reason == "the heartbeat-stale lease of session-1"


def test_a_child_is_recorded_and_what_was_there_is_known(tree):
    assert record_child(tree, "leaf-7", "run-42", "session-1", "") is None
    assert record_child(tree, "leaf-7", "run-43", "session-1", "").parent_id == "run-42"
    assert read_child_lease(tree, "leaf-7").parent_id == "run-43"


CLAIM = """
import sys
from pathlib import Path
from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.occupancy import take
from strawboss.heartbeat.utc import utc_now
sys.stdin.readline()
print(take(Worktree(Path(sys.argv[1])), sys.argv[2], "mutation", utc_now()).allowed)
"""


def test_of_many_that_claim_at_once_exactly_one_wins_and_the_lease_names_it(tree):
    claims = [
        subprocess.Popen(
            [sys.executable, "-c", CLAIM, str(tree.root), f"session-{number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    with ThreadPoolExecutor(len(claims)) as pool:
        said = list(pool.map(lambda claim: claim.communicate("go\n", timeout=60)[0].strip(), claims))
    assert sorted(said) == ["False", "False", "False", "True"]
    assert read_occupancy(tree, utc_now()).session_id == f"session-{said.index('True')}"
