from pathlib import Path

import pytest

from strawboss.heartbeat.layout import Worktree, is_safe_slug, lease_segment


@pytest.mark.parametrize("agent", ["leaf-7", "a", "agent3-1365", "poller_1411.b", "x" * 128, "7"])
def test_a_slug_may_name_a_file(agent):
    assert is_safe_slug(agent)


@pytest.mark.parametrize(
    "agent",
    [
        "",
        "../other",
        "a/b",
        "a\\b",
        "a..b",
        "-a",
        ".a",
        "leaf-a.ack",
        "leaf-a.steer",
        "leaf-a.firstseen",
        "x" * 129,
        "a\n",
        "ä",
        "a b",
    ],
)
def test_what_could_leave_the_directory_or_pass_for_another_file_may_not(agent):
    assert not is_safe_slug(agent)


def test_heartbeats_live_inside_the_worktree_of_the_agent():
    tree = Worktree(Path("/w"))
    assert tree.heartbeat_file("leaf-7") == Path("/w/.deft-scratch/subagent-status/leaf-7.json")
    assert tree.steer_directory == Path("/w/.deft-scratch/subagent-steer")
    assert tree.first_seen_directory == Path("/w/.deft-scratch/subagent-steer-firstseen")


def test_a_child_lease_is_named_as_other_tools_name_it():
    assert lease_segment("leaf/7 x.") == "leaf-7-x"
    assert lease_segment("///") == "agent"
