from datetime import timedelta

import pytest
from heartbeat.given import HOUR, NOW, ago, beat, in_use, put, put_ack, put_steer, tree

from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.precancel import Request, check, check_cancel
from strawboss.system.json_files import Broken, read_object

LONG_AGO, JUST_NOW = NOW - HOUR, NOW - timedelta(seconds=120)


@pytest.fixture
def ask(tmp_path):
    """Asks to cancel leaf-7 of this worktree as run-42; answers the reason it gives."""
    worktree = Worktree(tmp_path)

    def ask(now=NOW, by=check, **changes):
        if not worktree.status_directory.exists():
            in_use(tmp_path)
        fields = {
            "agent_id": "leaf-7",
            "canceller_id": "run-42",
            "steer_directory": worktree.steer_directory,
            "scratch_directory": worktree.status_directory,
            "first_seen_directory": worktree.first_seen_directory,
            "dispatched": LONG_AGO,
        } | changes
        return by(Request(**fields), now)

    return ask


def reason(outcome):
    assert outcome.ok is (outcome.exit_code == 0) is (outcome.clear_reason is not None)
    assert (outcome.clear_reason is None) is not (outcome.refuse_reason is None)
    return outcome.clear_reason or outcome.refuse_reason


def answer(outcome):
    return reason(outcome), outcome.exit_code


# --- (a) the canceller's own status request


@pytest.mark.parametrize("kind", ["note", "correction"])
def test_an_acknowledged_status_request_of_the_canceller_clears(tmp_path, ask, kind):
    beat(tmp_path)
    put_steer(tmp_path, kind=kind)
    put_ack(tmp_path)
    assert answer(ask()) == ("steer-acked", 0)


def test_an_acknowledged_one_clears_also_past_its_lifetime(tmp_path, ask):
    beat(tmp_path)
    put_steer(tmp_path, expires_at=ago(0))
    put_ack(tmp_path)
    assert answer(ask()) == ("steer-acked", 0)


def test_an_unread_one_past_its_lifetime_clears_once_it_was_watched_for_three_minutes(tmp_path, ask):
    beat(tmp_path)
    put_steer(tmp_path, expires_at=ago(1))
    assert answer(ask()) == ("observed-window-incomplete", 1)
    beat(tmp_path, last_heartbeat_at=ago(-180))
    assert answer(ask(NOW + timedelta(seconds=179))) == ("observed-window-incomplete", 1)
    assert answer(ask(NOW + timedelta(seconds=180))) == ("steer-observed-window", 0)


def test_what_was_asked_before_the_dispatch_was_asked_of_another_worker(tmp_path, ask):
    beat(tmp_path)
    put_steer(tmp_path, written_at=ago(60))
    put_ack(tmp_path)
    assert reason(ask(dispatched=NOW - timedelta(seconds=59))) == "heartbeat-fresh"
    assert reason(ask(dispatched=NOW - timedelta(seconds=60))) == "steer-acked"


def test_an_ack_from_before_the_steer_is_for_an_earlier_one_of_its_id(tmp_path, ask):
    beat(tmp_path)
    put_steer(tmp_path)
    put_ack(tmp_path, acked_at=ago(61))
    assert reason(ask()) == "observed-window-incomplete"


def test_an_unread_one_clears_when_it_was_watched_for_three_minutes_and_not_before(tmp_path, ask):
    beat(tmp_path)
    put_steer(tmp_path, written_at=ago(minutes=20), expires_at=ago(minutes=-10))
    first = ask()
    assert answer(first) == ("observed-window-incomplete", 1)
    assert first.first_seen_at == "2026-10-03T12:00:00Z"
    beat(tmp_path, last_heartbeat_at=ago(-180))
    assert answer(ask(NOW + timedelta(seconds=179))) == ("observed-window-incomplete", 1)
    cleared = ask(NOW + timedelta(seconds=180))
    assert answer(cleared) == ("steer-observed-window", 0)
    assert (cleared.first_seen_at, cleared.matching_steer_id) == ("2026-10-03T12:00:00Z", "s-1")


def test_a_window_may_be_longer(tmp_path, ask):
    beat(tmp_path)
    put_steer(tmp_path)
    ask(window=600)
    assert reason(ask(NOW + timedelta(seconds=599), window=600)) == "observed-window-incomplete"
    assert reason(ask(NOW + timedelta(seconds=600), window=600)) == "steer-observed-window"


@pytest.mark.parametrize("window", [179.9, 1, 0, -600, float("nan")])
def test_but_not_shorter_than_three_minutes(tmp_path, ask, window):
    beat(tmp_path)
    put_steer(tmp_path)
    assert answer(ask(window=window)) == ("config", 2)
    assert reason(ask(window=180)) == "observed-window-incomplete"


def test_a_steer_written_after_it_was_first_seen_keeps_the_gate_red_whatever_the_heartbeat_says(
    tmp_path, ask
):
    beat(tmp_path, last_heartbeat_at=ago(hours=2))
    put_steer(tmp_path, written_at=ago(-61))
    assert answer(ask()) == ("forward-skew", 1)


def test_a_minute_of_forward_skew_is_tolerated_and_backward_skew_does_not_matter(tmp_path, ask):
    beat(tmp_path)
    put_steer(tmp_path, written_at=ago(-60))
    assert reason(ask()) == "observed-window-incomplete"
    put_steer(tmp_path, written_at="2001-01-01T00:00:00Z")
    assert reason(ask(dispatched=None)) == "observed-window-incomplete"


@pytest.mark.parametrize("foreign", [{"writer_id": "another"}, {"kind": "constraint"}, {"kind": "halt"}])
def test_a_pending_steer_that_is_no_status_request_of_the_canceller_does_not_clear(tmp_path, ask, foreign):
    beat(tmp_path)
    put_steer(tmp_path, **foreign)
    assert answer(ask()) == ("writer-mismatch", 1)
    beat(tmp_path, last_heartbeat_at=ago(hours=2))
    assert reason(ask()) == "heartbeat-stale-or-missing-after-first"


@pytest.mark.parametrize("changes", [{}, {"last_heartbeat_at": ago(hours=2)}])
def test_an_inbox_that_does_not_parse_keeps_the_gate_red_whatever_the_heartbeat_says(tmp_path, ask, changes):
    beat(tmp_path, **changes)
    put(Worktree(tmp_path).steer_directory / "leaf-7.json", b"{not json")
    assert answer(ask()) == ("parse_failures", 1)


def test_the_broken_inbox_of_another_agent_does_not_matter(tmp_path, ask):
    put(Worktree(tmp_path).steer_directory / "leaf-8.json", b"{not json")
    in_use(tmp_path)
    assert reason(ask()) == "heartbeat-grace-expired-missing"


@pytest.mark.parametrize("damage", [b"{", {"schema": "x"}])
def test_a_damaged_stamp_clears_nothing_not_even_by_the_heartbeat(tmp_path, ask, damage):
    beat(tmp_path, last_heartbeat_at=ago(hours=2))
    put_steer(tmp_path)
    put(Worktree(tmp_path).first_seen_directory / "leaf-7.s-1.json", damage)
    assert answer(ask()) == ("config", 2)


def test_a_stamp_that_cannot_be_written_is_a_reason_and_no_traceback(tmp_path, ask):
    beat(tmp_path)
    put_steer(tmp_path)
    put(Worktree(tmp_path).first_seen_directory, b"a file in its place")
    assert answer(ask()) == ("config", 2)


def test_the_stamp_lies_outside_the_inbox_and_nothing_else_is_written(tmp_path, ask):
    beat(tmp_path)
    put_steer(tmp_path)
    before = tree(tmp_path)
    ask()
    new = set(tree(tmp_path)) - set(before)
    stamp = ".deft-scratch/subagent-steer-firstseen/leaf-7.s-1.json"
    assert new == {stamp, ".deft-scratch/.gitignore"}
    assert read_object(tmp_path / stamp)["canceller_id"] == "run-42"


# --- (b) the heartbeat


@pytest.mark.parametrize(
    ("fields", "dispatched", "expected"),
    [
        (None, LONG_AGO, ("heartbeat-grace-expired-missing", 0)),
        (None, NOW - timedelta(seconds=180), ("heartbeat-grace-expired-missing", 0)),
        (None, JUST_NOW, ("heartbeat-within-grace", 1)),
        (None, None, ("heartbeat-within-grace", 1)),
        (None, Broken("damaged"), ("heartbeat-within-grace", 1)),
        (None, NOW + HOUR, ("heartbeat-within-grace", 1)),
        ({}, LONG_AGO, ("heartbeat-fresh", 1)),
        ({}, None, ("heartbeat-fresh", 1)),
        (
            {"phase": "terminal", "terminal_state": "CLEAN", "last_heartbeat_at": ago(60)},
            LONG_AGO,
            ("heartbeat-fresh", 1),
        ),
        ({"last_heartbeat_at": ago(minutes=90)}, LONG_AGO, ("heartbeat-stale-or-missing-after-first", 0)),
        ({"last_heartbeat_at": ago(minutes=90)}, None, ("heartbeat-stale-or-missing-after-first", 0)),
        ({"last_heartbeat_at": ago(minutes=90)}, JUST_NOW, ("heartbeat-within-grace", 1)),
        ({"wait_kind": "vibes"}, LONG_AGO, ("heartbeat-malformed", 1)),
        ({"agent_id": "leaf-8"}, LONG_AGO, ("heartbeat-malformed", 1)),
        ({"last_heartbeat_at": ago(hours=-1)}, LONG_AGO, ("heartbeat-malformed", 1)),
    ],
)
def test_the_heartbeat_branch_clears_only_proven_death(tmp_path, ask, fields, dispatched, expected):
    if fields is not None:
        beat(tmp_path, **fields)
    assert answer(ask(dispatched=dispatched)) == expected


def test_a_record_that_cannot_be_parsed_is_malformed_and_not_missing(tmp_path, ask):
    put(Worktree(tmp_path).heartbeat_file("leaf-7"), b"{not json")
    assert answer(ask()) == ("heartbeat-malformed", 1)


def test_contradicting_copies_clear_nothing(tmp_path, ask):
    beat(tmp_path, last_heartbeat_at=ago(hours=2))
    put(Worktree(tmp_path).heartbeat_file("z"), read_object(beat(tmp_path / "other")))
    assert answer(ask()) == ("heartbeat-malformed", 1)


def test_a_status_directory_that_is_not_there_proves_nothing(tmp_path, ask):
    gone = tmp_path / "gone"
    asked = ask(
        scratch_directory=Worktree(gone).status_directory, steer_directory=Worktree(gone).steer_directory
    )
    assert answer(asked) == ("config", 2)
    assert not gone.exists()


def test_a_steer_directory_that_is_not_there_means_nobody_was_steered_in_a_worktree_in_use_only(
    tmp_path, ask
):
    in_use(tmp_path)
    assert reason(ask()) == "heartbeat-grace-expired-missing"
    assert answer(ask(steer_directory=tmp_path / "gone")) == ("config", 2)


OTHERS = [
    ({}, "identity-unknown"),
    ({"wait_kind": "vibes"}, "identity-unknown"),
    ({"last_heartbeat_at": ago(hours=2)}, "heartbeat-grace-expired-missing"),
    ({"phase": "terminal", "terminal_state": "CLEAN"}, "heartbeat-grace-expired-missing"),
]


@pytest.mark.parametrize(("other", "expected"), OTHERS)
def test_an_attempt_without_a_worker_is_not_cancelled_on_the_death_of_a_name_beside_a_living_one(
    tmp_path, ask, other, expected
):
    beat(tmp_path, "leaf-8", **other)
    assert reason(ask(identified=False)) == expected
    assert reason(ask()) == "heartbeat-grace-expired-missing"


def test_a_status_directory_that_cannot_be_listed_is_not_a_missing_worker(tmp_path, ask):
    put(Worktree(tmp_path).status_directory, b"")
    assert answer(ask()) == ("config", 2)


def test_a_steer_directory_that_is_none_is_a_configuration_error(tmp_path, ask):
    put(Worktree(tmp_path).steer_directory, b"")
    assert answer(ask()) == ("config", 2)


# --- (c) force, and who asks


def test_force_needs_a_reason_and_prints_it(ask):
    assert answer(ask(dispatched=None, force=True, reason="  ")) == ("config", 2)
    forced = ask(dispatched=None, force=True, reason="host was\nrebooted")
    assert answer(forced) == ("force", 0)
    assert "FORCE by run-42: host was rebooted" in forced.message


@pytest.mark.parametrize("damage", ["inbox", "stamp", "record"])
def test_force_clears_what_is_damaged(tmp_path, ask, damage):
    beat(tmp_path, phase="poling" if damage == "record" else "polling")
    put_steer(tmp_path)
    if damage == "inbox":
        put(Worktree(tmp_path).steer_directory / "leaf-7.json", b"{")
    if damage == "stamp":
        put(Worktree(tmp_path).first_seen_directory / "leaf-7.s-1.json", b"{")
    assert reason(ask(force=True, reason="seen dead")) == "force"


def test_force_is_the_last_branch_and_is_not_needed_when_another_clears(tmp_path, ask):
    put_steer(tmp_path)
    put_ack(tmp_path)
    assert reason(ask(force=True, reason="x")) == "steer-acked"


def test_another_worker_than_expected_is_refused_even_by_force(ask):
    assert answer(ask(expected_worker="leaf-8", force=True, reason="x")) == ("identity-mismatch", 1)
    assert reason(ask(expected_worker="leaf-7")) == "heartbeat-grace-expired-missing"


@pytest.mark.parametrize("agent", ["", "../x", "leaf-7.ack", "a b"])
def test_an_unsafe_agent_is_a_usage_error(ask, agent):
    assert answer(ask(agent_id=agent)) == ("missing-agent", 2)


def test_a_blank_canceller_is_a_usage_error(ask):
    assert answer(ask(canceller_id=" ")) == ("missing-canceller", 2)


def test_a_cancel_with_nobody_to_ask_is_refused_unless_forced(ask):
    assert answer(ask(by=check_cancel, agent_id="")) == ("missing-agent", 1)
    assert answer(ask(by=check_cancel, canceller_id="")) == ("missing-agent", 1)
    assert answer(ask(by=check_cancel, agent_id="", force=True, reason="x")) == ("force", 0)
    assert answer(ask(by=check_cancel, agent_id="", force=True, reason=" ")) == ("config", 2)
    assert answer(ask(by=check_cancel, canceller_id="", force=True, reason="x")) == ("missing-canceller", 2)
    assert reason(ask(by=check_cancel)) == "heartbeat-grace-expired-missing"
