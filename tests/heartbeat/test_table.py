"""The table of inputs that tools in one worktree must agree on, row by row, through the commands themselves.

Times are relative to now, since the commands look at the clock; what needs a moving clock is asked of the gates.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from heartbeat.commands import run
from heartbeat.given import NOW, ago, beat, content, put, put_ack, put_steer
from heartbeat.given import ack as ack_file
from heartbeat.given import steer as steer_file

from strawboss.heartbeat import review
from strawboss.heartbeat.attempts import dispatch
from strawboss.heartbeat.attempts.dispatch import Place
from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.precancel import Request, check
from strawboss.heartbeat.review import Host, Lease, Probe
from strawboss.heartbeat.reviewing import Looker
from strawboss.heartbeat.utc import parse_utc, utc_now


def since(seconds=0, **age):
    return ago(seconds, **age, now=utc_now())


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DEFT_SESSION_ID", raising=False)
    worktree = Worktree(tmp_path)
    worktree.status_directory.mkdir(parents=True)
    return worktree


@pytest.mark.parametrize(
    ("time", "parsed"),
    [
        ("2026-06-19T12:00:00Z", True),
        ("2026-06-19T12:00:00+00:00", True),
        ("2026-06-19T12:00:00+05:00", False),
        ("2026-06-19T12:00:00", False),
        ("", False),
        (1781870400, False),
    ],
)
def test_times(tree, time, parsed):
    put(tree.heartbeat_file("a"), content("a", last_heartbeat_at=time))
    (row,) = run("agent:monitor", "--json").json["records"]
    assert (row["age_seconds"] is not None) is parsed
    assert isinstance(time, int) or (parse_utc(time) is not None) is parsed


@pytest.mark.parametrize(
    ("fields", "threshold", "word", "code"),
    [
        ({"last_heartbeat_at": -7200}, 30, "STALE", 1),
        ({"last_heartbeat_at": -7200, "terminal_state": "CLEAN"}, 30, "TERMINAL", 0),
        ({"last_heartbeat_at": -7200, "phase": "poling"}, 30, "STALE+MALFORMED", 1),
        ({"last_heartbeat_at": -120}, 1, "STALE", 1),
        ({"phase": "poling"}, 30, "MALFORMED", 1),
        ({"agent_id": "b"}, 30, "MALFORMED", 1),
        ({"phase": ..., "last_message": ...}, 30, "MALFORMED", 1),
        ({"phase": "terminal"}, 30, "MALFORMED", 1),
        ({"wait_kind": "pr:watch", "head_sha": "abc123"}, 30, "OK", 0),
        ({"wait_kind": "vibes"}, 30, "MALFORMED", 1),
    ],
)
def test_records(tree, fields, threshold, word, code):
    at = since(-fields.get("last_heartbeat_at", -10))
    put(tree.heartbeat_file("a"), content("a", **fields | {"last_heartbeat_at": at}))
    ran = run("agent:monitor", "--threshold-minutes", threshold)
    assert ran.code == code
    assert f"{fields.get('agent_id', 'a')} -- {word} " in ran.out
    if fields.get("wait_kind") == "vibes":
        assert "wait_kind" in ran.out


def test_a_record_that_is_not_json(tree):
    put(tree.heartbeat_file("a"), b"{not json")
    ran = run("agent:monitor")
    assert (ran.code, "a -- MALFORMED" in ran.out) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((), 0),
        (("--scratch-dir", "gone"), 2),
        (("--scratch-dir", "file"), 2),
        (("--threshold-minutes", "0"), 2),
        (("--threshold-minutes", "-5"), 2),
        (("--threshold-minutes", "abc"), 2),
    ],
)
def test_directories_and_thresholds(tree, arguments, code):
    put(tree.root / "file", b"")
    assert run("agent:monitor", *arguments).code == code


def test_a_required_agent_that_is_fresh_beside_an_unrelated_stale_one(tree):
    beat(tree.root, "a", last_heartbeat_at=since(10))
    beat(tree.root, "b", last_heartbeat_at=since(hours=2))
    assert run("verify:subagent-alive", "--require-agent", "a").code == 0
    assert run("verify:subagent-alive").code == 1


def test_a_required_agent_in_an_empty_and_in_a_missing_directory(tree):
    empty = run("verify:subagent-alive", "--require-agent", "a")
    assert empty.code == 1
    for part in ("REDISPATCH_OK", "--action cancel", "session:start --rearm"):
        assert part in empty.out
    gone = run("verify:subagent-alive", "--require-agent", "a", "--scratch-dir", "gone", "--json")
    assert (gone.code, gone.json["all_ok"]) == (2, False)


def test_a_status_directory_with_a_steer_an_ack_and_a_subdirectory(tree):
    beat(tree.root, "a", last_heartbeat_at=since(10))
    put(tree.status_directory / "b.json", steer_file("b"))
    put(tree.status_directory / "b.ack.json", ack_file("b"))
    put(tree.status_directory / "deeper" / "c.json", content("c"))
    report = run("agent:monitor", "--json").json
    assert (report["record_count"], report["malformed_count"]) == (1, 0)


def test_a_steer_pending_acked_and_expired(tree):
    beat(tree.root, last_heartbeat_at=since(10))
    put_steer(tree.root, written_at=since(60), expires_at=since(minutes=-29))
    assert run("verify:subagent-steer", "--json").json["pending_agents"] == ["leaf-7"]
    put_ack(tree.root, acked_at=since(10))
    assert run("verify:subagent-steer").code == 0
    assert run("subagent:inbox", "--agent", "leaf-7", "--json").json["delivery"] == "already-acked"
    put_steer(tree.root, steer_id="s-2", written_at=since(hours=1), expires_at=since(minutes=59))
    assert run("verify:subagent-steer").code == 0
    assert run("subagent:inbox", "--agent", "leaf-7", "--json").json["delivery"] == "expired"


def test_an_inbox_that_is_not_json(tree):
    beat(tree.root, last_heartbeat_at=since(10))
    put(tree.steer_directory / "leaf-7.json", b"{not json")
    report = run("verify:subagent-steer", "--json").json
    assert (report["pending"], len(report["parse_failures"])) == ([], 1)
    assert run("verify:subagent-steer").out.startswith("STEER_PENDING")
    ran = run(
        "subagent:pre-cancel", "--agent", "leaf-7", "--canceller-id", "run-42", "--target-id", ".",
        "--dispatch-started-at", since(hours=1), "--json",
    )  # fmt: skip
    assert (ran.code, ran.json["refuse_reason"]) == (1, "parse_failures")


@pytest.mark.parametrize(
    ("agent", "text"),
    [
        ("leaf-7", " "),
        ("leaf-7", "x" * 2001),
        ("../other", "x"),
        ("leaf-a.ack", "x"),
        ("leaf-a.firstseen", "x"),
    ],
)
def test_steers_that_are_refused(tree, agent, text):
    beat(tree.root, last_heartbeat_at=since(10))
    ran = run("subagent:steer", "--agent", agent, "--writer-id", "run-42", "--kind", "note", "--text", text)
    assert ran.code == 2


def test_a_steer_of_another_schema(tree):
    put_steer(tree.root, schema="not-steer")
    assert len(run("verify:subagent-steer", "--json").json["parse_failures"]) == 1


def test_a_writer_without_a_child_lease(tree):
    steer = ("subagent:steer", "--agent", "leaf-7", "--writer-id", "run-42", "--kind", "note", "--text", "x")
    ran = run(*steer)
    assert (ran.code, "child occupancy lease" in ran.err) == (2, True)
    # The contract gives the heartbeat's parent authority as well; other tools are stricter here.
    beat(tree.root, last_heartbeat_at=since(10))
    assert run(*steer).code == 0


def at(clock):
    return parse_utc(f"2026-10-03T{clock}:00Z")


def asked(tree, now, dispatched=None):
    directories = (tree.steer_directory, tree.status_directory, tree.first_seen_directory)
    return check(Request("leaf-7", "run-42", *directories, dispatched=dispatched), now)


def test_a_note_watched_from_its_first_probe_on(tree):
    beat(tree.root, last_heartbeat_at="2026-10-03T12:29:00Z")
    put_steer(tree.root, written_at="2026-10-03T12:10:00Z", expires_at="2026-10-03T12:40:00Z")
    first, second = asked(tree, at("12:30")), asked(tree, at("12:33"))
    assert (first.refuse_reason, second.clear_reason) == (
        "observed-window-incomplete",
        "steer-observed-window",
    )
    assert first.first_seen_at == second.first_seen_at == "2026-10-03T12:30:00Z"


def test_a_correction_acked_after_thirty_seconds(tree):
    put_steer(tree.root, kind="correction", written_at=ago(60), expires_at=ago(minutes=-29))
    put_ack(tree.root, acked_at=ago(30))
    assert asked(tree, NOW).clear_reason == "steer-acked"


def test_no_record_two_and_five_minutes_after_the_start(tree):
    assert asked(tree, at("12:02"), at("12:00")).refuse_reason == "heartbeat-within-grace"
    assert asked(tree, at("12:05"), at("12:00")).clear_reason == "heartbeat-grace-expired-missing"


def test_a_fresh_record_with_a_bad_wait_and_an_old_one(tree):
    hour_ago = NOW - timedelta(hours=1)
    beat(tree.root, wait_kind="vibes")
    assert asked(tree, NOW, hour_ago).refuse_reason == "heartbeat-malformed"
    beat(tree.root, last_heartbeat_at=ago(minutes=90))
    put_steer(tree.root, written_at=ago(60), expires_at=ago(minutes=-29))
    assert asked(tree, NOW, hour_ago).clear_reason == "heartbeat-stale-or-missing-after-first"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--target-id", ".", "--force", "--reason", "  "), 2),
        (("--target-id", ".", "--force", "--reason", "seen dead"), 0),
        (("--steer-dir", "x"), 2),
        ((), 2),
    ],
)
def test_force_and_destinations(tree, arguments, code):
    assert (
        run("subagent:pre-cancel", "--agent", "leaf-7", "--canceller-id", "run-42", *arguments).code == code
    )


def test_begin_begin_cancel_forced_cancel_begin(tree):
    unit = ("swarm:pre-dispatch", "--scope-id", "s", "--target-id", ".", "--worker-id", "leaf-7")
    cancel = (*unit, "--action", "cancel", "--agent", "leaf-7", "--canceller-id", "run-42")
    ran = [
        run(*unit),
        run(*unit),
        run(*cancel),
        run(*cancel, "--pre-cancel-force", "--reason", "x"),
        run(*unit),
    ]
    assert [each.code for each in ran] == [0, 1, 1, 0, 0]
    assert "DENY_DUPLICATE_ACTIVE" in ran[1].out
    assert "pre-cancel refused" in ran[2].out


@pytest.mark.parametrize(
    ("first", "second"), [("w", "{root}/w"), ("{root}/w", "w"), ("feat/x", "feat/x"), ("w", "alias")]
)
def test_spellings_of_one_target(tree, first, second):
    (tree.root / "w").mkdir()
    (tree.root / "alias").symlink_to("w")
    root = str(tree.root)
    assert dispatch.begin(Place(Path(), "s", first.format(root=root)), "r", None, None, NOW).exit_code == 0
    (tree.root / "feat" / "x").mkdir(parents=True)
    denied = dispatch.begin(Place(Path(), "s", second.format(root=root)), "r", None, None, NOW)
    assert denied.decision == "DENY_DUPLICATE_ACTIVE"


@pytest.mark.parametrize(
    ("target", "git", "made"), [("./w", False, True), ("bare", True, True), ("docs", False, True)]
)
def test_begin_makes_status_directories(tree, target, git, made):
    (tree.root / target).mkdir()
    if git:
        put(tree.root / target / ".git", b"")
    run("swarm:pre-dispatch", "--scope-id", "s", "--target-id", target)
    assert (tree.root / target / ".deft-scratch" / "subagent-status").exists() is made


SPAWN = Host(1, "spawn_subagent")
LEASE = Lease("monitor-1", "spawn_subagent")


@pytest.mark.parametrize(("seconds", "halt"), [(120, False), (181, True)])
def test_an_arm_probe_that_stays_red(seconds, halt):
    probe = Probe(77, merge_path_arm=True, live_wait=True, started_at=NOW - timedelta(seconds=seconds))
    report = review.report(probe, SPAWN, LEASE, False, "solo", NOW)
    assert report.exit_code == 1
    assert report.approach1_arm_startup.halt_class == ("approach1-arm-startup" if halt else None)


@pytest.mark.parametrize(
    ("parent", "pid", "armed"),
    [("monitor-1", 2**22 + 1, False), ("pr-watch", None, False), ("monitor-1", None, True)],
)
def test_what_arms(tree, parent, pid, armed):
    beat(tree.root, parent_id=parent, pr_number=77, **({"pid": pid} if pid else {}))
    probe = Probe(77, merge_path_arm=True, live_wait=True)
    waiting = Looker(tree.root, "o/r", lambda _arguments: pytest.fail("no need to ask")).waiting(
        probe, SPAWN, LEASE, None, NOW
    )
    assert review.arm(probe, SPAWN, LEASE, waiting).armed is armed


def test_a_stranger_in_a_free_and_in_a_held_tree(tree):
    ask = ("occupancy", "show", "--session-id", "stranger")
    assert run(*ask).code == 0
    run("occupancy", "claim", "--session-id", "session-1")
    assert run(*ask).code == 1
