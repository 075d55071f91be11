from pathlib import Path

import pytest

from strawboss.heartbeat.layout import Worktree, is_plain_name, is_safe_slug, lease_segment, worktree_of


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


@pytest.mark.parametrize("agent", ["leaf-7", "leaf-a.ack", "leaf-a.steer"])
def test_a_reader_may_be_asked_for_any_plain_name(agent):
    assert is_plain_name(agent)


@pytest.mark.parametrize("agent", ["", "../x", "a/b", "a..b", ".a", "x" * 129, "a\n"])
def test_but_for_nothing_that_leaves_the_directory(agent):
    assert not is_plain_name(agent)


def test_the_worktree_is_the_one_above_a_directory_of_the_contract():
    assert worktree_of(Worktree(Path("/w")).status_directory) == Path("/w")
    assert worktree_of(Path("/w/src/../.deft-scratch/subagent-steer")) == Path("/w")
    assert worktree_of(Path("/w")) is None


def test_heartbeats_live_inside_the_worktree_of_the_agent():
    tree = Worktree(Path("/w"))
    assert tree.heartbeat_file("leaf-7") == Path("/w/.deft-scratch/subagent-status/leaf-7.json")
    assert tree.steer_directory == Path("/w/.deft-scratch/subagent-steer")
    assert tree.first_seen_directory == Path("/w/.deft-scratch/subagent-steer-firstseen")


def test_a_child_lease_is_named_as_other_tools_name_it():
    assert lease_segment("leaf/7 x.") == "leaf-7-x"
    assert lease_segment("///") == "agent"
