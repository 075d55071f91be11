import os
from datetime import timedelta

import pytest
from heartbeat.given import HOUR, NOW, ago, content, lease_comment

from strawboss.heartbeat import review
from strawboss.heartbeat.record import examine
from strawboss.heartbeat.review import Host, Lease, Probe, host_of

SPAWN, CURSOR, NONE = Host(1, "spawn_subagent"), Host(1, "cursor-task"), Host(3, "none")
LEASE = Lease("monitor-1", "spawn_subagent")


@pytest.mark.parametrize(
    ("environment", "host"),
    [
        ({}, NONE),
        ({"GROK_BUILD": "1"}, SPAWN),
        ({"CURSOR_COMPOSER": "1"}, CURSOR),
        ({"CURSOR_AGENT": "1"}, CURSOR),
        ({"OPENCLAW_SESSION": "x"}, Host(1, "sessions_spawn")),
        ({"GROK_BUILD": "1", "DEFT_MONITOR_TIER": "3"}, Host(3, "override")),
        ({"DEFT_MONITOR_TIER": "1"}, Host(1, "override")),
        ({"DEFT_MONITOR_TIER": "2"}, NONE),
    ],
)
def test_the_environment_says_what_the_host_offers(environment, host):
    assert host_of(environment) == host


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (lease_comment(), True),
        (lease_comment(ended_at="null"), True),
        (lease_comment(ended_at=ago(1)), False),
        (lease_comment(expires_at=ago(0)), False),
        (lease_comment(expires_at="soon"), False),
        (lease_comment(expires_at=""), False),
        (lease_comment().replace(review.LEASE_END, ""), False),
        ("nothing", False),
        ("", False),
    ],
)
def test_a_lease_is_an_unexpired_unended_lease_comment(body, found):
    lease = review.find_lease([(1, body)], NOW)
    assert bool(lease) is found
    if lease:
        assert lease == Lease("monitor-1", "spawn_subagent")


def test_the_oldest_lease_comment_counts():
    comments = [
        (9, lease_comment(monitor_agent_id="late")),
        (3, lease_comment(monitor_agent_id="early")),
        (1, "hello"),
    ]
    assert review.find_lease(comments, NOW).monitor_agent_id == "early"
    assert review.find_lease([(9, lease_comment()), (3, lease_comment(expires_at=ago(1)))], NOW) is None


def wait(**changes):
    fields = {"pr_number": 77, "parent_id": "monitor-1"} | changes
    return examine("w.json", "leaf-7", content(**fields), NOW, 1800)


@pytest.mark.parametrize(
    ("changes", "waits"),
    [
        ({}, True),
        ({"phase": "starting"}, True),
        ({"pid": os.getpid()}, True),
        ({"pid": 2**22 + 1}, False),
        ({"pr_number": 78}, False),
        ({"pr_number": None}, False),
        ({"phase": "fixing"}, False),
        ({"phase": "terminal", "terminal_state": "CLEAN"}, False),
        ({"last_heartbeat_at": ago(hours=1)}, False),
        ({"wait_kind": "vibes"}, False),
    ],
)
def test_a_live_wait_is_a_sound_waiting_heartbeat_on_that_pull_request(changes, waits):
    assert review.waits(wait(**changes), 77) is waits


@pytest.mark.parametrize(
    ("parent", "host", "lease", "clean", "head", "counts"),
    [
        ("monitor-1", SPAWN, LEASE, None, None, True),
        ("pr-watch", SPAWN, LEASE, None, None, False),
        ("pr-watch", CURSOR, LEASE, None, None, True),
        ("monitor-1", SPAWN, None, None, None, False),
        ("pr-wait-mergeable", SPAWN, LEASE, "abc", "abc", True),
        ("pr-wait-mergeable", SPAWN, LEASE, "abc", "def", False),
        ("pr-wait-mergeable", SPAWN, LEASE, None, None, False),
    ],
)
def test_on_a_host_that_spawns_the_wait_must_be_the_lease_holders_or_on_the_clean_head(
    parent, host, lease, clean, head, counts
):
    assert review.wait_counts(wait(parent_id=parent), host, lease, clean, head) is counts


@pytest.mark.parametrize(
    ("flags", "host", "lease", "waiting", "reason"),
    [
        ({"live_wait": True}, NONE, None, False, "live_wait"),
        ({}, NONE, None, True, "unarmed_stand_down"),
        ({"live_wait": True}, SPAWN, LEASE, True, "live_wait"),
        ({"live_wait": True}, SPAWN, LEASE, False, "unarmed_stand_down"),
        ({"live_wait": True}, SPAWN, None, True, "unarmed_stand_down"),
        ({}, SPAWN, LEASE, True, "unarmed_stand_down"),
        ({"explicit_finish": True}, SPAWN, None, False, "explicit_finish"),
        ({"sticky_lease": True}, SPAWN, LEASE, True, "unarmed_stand_down"),
    ],
)
def test_what_arms_the_merge_path(flags, host, lease, waiting, reason):
    arm = review.arm(Probe(77, merge_path_arm=True, **flags), host, lease, waiting)
    assert arm.reason == reason
    assert arm.armed is (reason != "unarmed_stand_down")
    assert ("unarmed stand-down" in arm.message) is not arm.armed


@pytest.mark.parametrize(
    ("seconds", "flags", "armed", "halt"),
    [
        (120, {}, False, False),
        (179, {}, False, False),
        (180, {}, False, True),
        (181, {}, False, True),
        (181, {}, True, False),
        (181, {"explicit_finish": True}, False, False),
        (-60, {}, False, False),
    ],
)
def test_a_red_probe_past_three_minutes_is_the_startup_halt(seconds, flags, armed, halt):
    probe = Probe(77, merge_path_arm=True, started_at=NOW - timedelta(seconds=seconds), **flags)
    startup = review.startup(probe, armed, NOW)
    assert (startup.halt, startup.halt_class) == (halt, "approach1-arm-startup" if halt else None)
    if halt:
        assert "approach1-arm-startup" in startup.message
        assert "do not spawn again" in startup.message
        assert "subagent:pre-cancel" in startup.message


def test_without_a_start_there_is_no_halt():
    assert not review.startup(Probe(77, merge_path_arm=True), False, NOW).halt


def reported(host=NONE, lease=None, waiting=False, **flags):
    return review.report(Probe(77, **flags), host, lease, waiting, "solo", NOW)


def test_a_host_with_a_primitive_needs_a_lease_and_another_none_unless_asked():
    assert reported().exit_code == 0
    assert reported(sticky_lease=True).exit_code == 1
    assert reported(SPAWN).exit_code == 1
    assert reported(SPAWN, LEASE).exit_code == 0


def test_the_halt_keeps_exit_1():
    report = reported(merge_path_arm=True, started_at=NOW - HOUR)
    assert (report.exit_code, report.approach1_arm_startup.halt_class) == (1, "approach1-arm-startup")
    assert "approach1-arm-startup" in report.message


def test_armed_without_the_needed_lease_is_not_ready():
    report = reported(SPAWN, merge_path_arm=True, explicit_finish=True)
    assert (report.ready, report.merge_path_arm.armed) == (False, True)
    assert "lease" in report.message
