from datetime import timedelta
from itertools import product

import pytest
from heartbeat.given import HOUR, NOW, ago, content
from hypothesis import given, strategies

from strawboss.heartbeat import alive, monitor, precancel
from strawboss.heartbeat.classify import (
    STARTUP_GRACE_SECONDS,
    Known,
    Standing,
    Status,
    duplicates,
    judge,
    status,
)
from strawboss.heartbeat.record import Record, examine
from strawboss.heartbeat.sweep import Sweep, sweep
from strawboss.system.json_files import Broken, encode

JUST_NOW, LONG_AGO = NOW - timedelta(seconds=60), NOW - HOUR
DAMAGED = Broken("ledger damaged")


def record(agent="leaf-7", stem=None, **changes):
    return examine(f"{agent}.json", stem or agent, content(agent, **changes), NOW, 1800)


FRESH = record()
STALE = record(last_heartbeat_at=ago(hours=2))
DONE = record(phase="terminal", terminal_state="CLEAN", last_heartbeat_at=ago(hours=2))
BAD = record(wait_kind="vibes")
STALE_BAD = record(phase="poling", last_heartbeat_at=ago(hours=2))
DONE_BAD = record(phase="terminal", terminal_state="CLEAN", last_heartbeat_at=ago(hours=2), parent_id="")
UNREADABLE = Record("leaf-7.json", "leaf-7", ("malformed JSON",))


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (FRESH, Status.OK),
        (STALE, Status.STALE),
        (DONE, Status.TERMINAL),
        (BAD, Status.MALFORMED),
        (STALE_BAD, Status.STALE_MALFORMED),
        (UNREADABLE, Status.MALFORMED),
        (record(phase="terminal", terminal_state="CLEAN", pr_number="x", wait_kind=1), Status.MALFORMED),
    ],
)
def test_each_record_has_one_status_word(found, word):
    assert status(found) is word


@pytest.mark.parametrize(
    ("records", "dispatched", "standing", "takeover"),
    [
        # no record
        ([], None, Standing.MISSING_GRACE_UNSAID, True),
        ([], JUST_NOW, Standing.WITHIN_GRACE, False),
        ([], NOW - timedelta(seconds=179), Standing.WITHIN_GRACE, False),
        ([], NOW - timedelta(seconds=180), Standing.MISSING_AFTER_GRACE, True),
        ([], NOW + HOUR, Standing.WITHIN_GRACE, False),
        ([], DAMAGED, Standing.MISSING_GRACE_UNKNOWN, False),
        # a record of this life
        ([FRESH], None, Standing.ALIVE, False),
        ([FRESH], LONG_AGO, Standing.ALIVE, False),
        ([FRESH], JUST_NOW, Standing.ALIVE, False),
        ([DONE], None, Standing.ALIVE, False),
        ([STALE], None, Standing.STALE, True),
        ([STALE], DAMAGED, Standing.STALE, True),
        ([STALE], NOW - 3 * HOUR, Standing.STALE, True),
        # broken is not dead
        ([BAD], LONG_AGO, Standing.MALFORMED, False),
        ([UNREADABLE], LONG_AGO, Standing.MALFORMED, False),
        # what is ill proves nothing, however old it says it is
        ([STALE_BAD], None, Standing.MALFORMED, False),
        ([STALE_BAD], LONG_AGO, Standing.MALFORMED, False),
        ([STALE_BAD], JUST_NOW, Standing.WITHIN_GRACE, False),
        ([DONE_BAD], LONG_AGO, Standing.MALFORMED, False),
        # records of an earlier life say nothing of a worker that was just dispatched
        ([STALE], JUST_NOW, Standing.WITHIN_GRACE, False),
        ([STALE], LONG_AGO, Standing.STALE, True),
        ([DONE], JUST_NOW, Standing.WITHIN_GRACE, False),
        ([DONE], LONG_AGO, Standing.MISSING_AFTER_GRACE, True),
    ],
)
def test_a_workers_standing(records, dispatched, standing, takeover):
    judged = judge("leaf-7", records, dispatched, NOW)
    assert (judged.standing, judged.takeover) == (standing, takeover)


@pytest.mark.parametrize(
    ("records", "dispatched", "standing"),
    [
        ([], None, Standing.DOUBTED),
        ([], LONG_AGO, Standing.DOUBTED),
        ([STALE], LONG_AGO, Standing.DOUBTED),
        ([], JUST_NOW, Standing.WITHIN_GRACE),
        ([], DAMAGED, Standing.MISSING_GRACE_UNKNOWN),
        ([FRESH], LONG_AGO, Standing.ALIVE),
        ([STALE_BAD, FRESH], LONG_AGO, None),
    ],
)
def test_a_doubt_about_who_it_is_takes_nobody_over(records, dispatched, standing):
    judged = judge("leaf-7", records, dispatched, NOW, "who?")
    assert (judged.takeover, judged.doubt) == (False, "who?")
    assert standing in (None, judged.standing)


OTHERS_OLD_AND_ILL = record("leaf-8", phase="poling", last_heartbeat_at=ago(hours=2))
OTHER, OTHERS_END = record("leaf-8"), record("leaf-8", phase="terminal", terminal_state="CLEAN")


@pytest.mark.parametrize(
    ("known", "records", "doubt"),
    [
        (Known(), [], ""),
        (Known(), [OTHER], ""),
        (Known(NOW, named=True, others=("leaf-8",)), [OTHER], ""),
        (Known(others=("leaf-8",)), [OTHER], "nobody sent it: the attempt in its worktree is that of leaf-8"),
        (Known(others=("leaf-8",)), [STALE], ""),
        (Known(NOW, nameless=True), [], ""),
        (Known(NOW, nameless=True), [OTHERS_END], ""),
        (
            Known(NOW, nameless=True),
            [OTHER],
            "the attempt in its worktree names no worker, and leaf-8 may be it",
        ),
        (
            Known(NOW, nameless=True),
            [OTHERS_OLD_AND_ILL],
            "the attempt in its worktree names no worker, and leaf-8 may be it",
        ),
        (Known(NOW, nameless=True), [OTHER, STALE], ""),
        (Known(NOW, named=True, elsewhere="/w"), [STALE], "it was sent into /w, which was not looked at"),
    ],
)
def test_who_was_sent_is_doubted_for_a_reason_only(known, records, doubt):
    assert known.doubt("leaf-7", records) == doubt


def test_where_it_must_be_known_a_name_without_any_trace_is_nobodys():
    assert "no record, no attempt and no child lease" in Known().doubt("leaf-7", [OTHER], must_be_known=True)
    damaged = Known(DAMAGED).doubt("leaf-7", [], must_be_known=True)
    assert damaged == "whether anybody sent it is not known: ledger damaged"
    for known, records in ((Known(), [STALE]), (Known(named=True), [])):
        assert known.doubt("leaf-7", records, must_be_known=True) == ""


def test_a_beat_in_the_second_of_the_dispatch_is_of_the_new_worker():
    done = record(phase="terminal", terminal_state="CLEAN", last_heartbeat_at=ago(60))
    assert judge("leaf-7", [done], JUST_NOW + timedelta(milliseconds=900), NOW).standing is Standing.ALIVE


def test_the_first_record_of_a_name_decides_and_contradicting_copies_take_nobody_over():
    judged = judge("leaf-7", [STALE, FRESH], None, NOW)
    assert (judged.standing, judged.takeover, len(judged.copies)) == (Standing.STALE, False, 2)
    assert judge("leaf-7", [FRESH, STALE], None, NOW).standing is Standing.ALIVE
    assert judge("leaf-7", [STALE, STALE], None, NOW).takeover


def test_a_file_that_claims_anothers_name_speaks_for_neither_of_them():
    misnamed = record("leaf-8", stem="leaf-7")
    assert judge("leaf-7", [misnamed], LONG_AGO, NOW).standing is Standing.MALFORMED
    assert judge("leaf-8", [misnamed], LONG_AGO, NOW).standing is Standing.MALFORMED


def test_an_unreadable_file_speaks_for_its_name_and_no_other():
    assert judge("leaf-9", [UNREADABLE], None, NOW).standing is Standing.MISSING_GRACE_UNSAID


def test_duplicates_are_the_ids_claimed_twice():
    assert duplicates([FRESH, STALE, record("b"), UNREADABLE, UNREADABLE]) == ["leaf-7"]


CONTENTS = strategies.sampled_from(
    [
        content(),
        content(last_heartbeat_at=ago(hours=2)),
        content(last_heartbeat_at=ago(hours=-2)),
        content(last_heartbeat_at="noon"),
        content(phase="terminal", terminal_state="CLEAN", last_heartbeat_at=ago(hours=2)),
        content(phase="terminal"),
        content(phase="poling", last_heartbeat_at=ago(hours=2)),
        content(wait_kind="vibes"),
        content("leaf-8"),
        content("leaf-8", last_heartbeat_at=ago(hours=2)),
        {"agentId": "leaf-7"},
        None,
    ]
)
DISPATCHED = strategies.sampled_from(
    [None, DAMAGED, JUST_NOW, NOW - 3 * HOUR, NOW - timedelta(seconds=180), NOW + HOUR]
)


@given(strategies.lists(CONTENTS, max_size=3), DISPATCHED)
def test_monitor_gate_and_pre_cancel_never_disagree(tmp_path_factory, contents, dispatched):
    root = tmp_path_factory.mktemp("worktree")
    (root / "subagent-steer").mkdir()
    status_directory = root / ".deft-scratch" / "subagent-status"
    status_directory.mkdir(parents=True)
    for name, fields in zip(("a-copy", "leaf-7", "z-copy"), contents, strict=False):
        (status_directory / f"{name}.json").write_bytes(b"{" if fields is None else encode(fields))
    swept = sweep([str(status_directory)], NOW)
    judged = judge("leaf-7", swept.records, dispatched, NOW)
    gate = alive.report(alive.decide(swept, ("leaf-7",), lambda _: dispatched), {})
    asked = precancel.check(
        precancel.Request(
            "leaf-7",
            "run-42",
            root / "subagent-steer",
            status_directory,
            root / "seen",
            dispatched=dispatched,
        ),
        NOW,
    )
    _agree(swept, judged, gate, asked)


def _agree(swept: Sweep, judged, gate, asked):
    rows = monitor.report(swept, None).records
    assert [row.status for row in rows] == [status(each).value for each in swept.records]
    assert [row.failures for row in rows] == [row.failures for row in gate.records]
    assert [row.is_stale for row in rows] == [row.is_stale for row in gate.records]
    assert gate.all_ok is (judged.standing is Standing.ALIVE)
    assert gate.redispatch_ok is judged.takeover
    # Without any dispatch time the gate leaves the grace to its caller; pre-cancel refuses.
    unsaid = judged.standing is Standing.MISSING_GRACE_UNSAID
    assert asked.ok is (judged.takeover and not unsaid)
    if asked.ok:
        assert gate.redispatch_ok
    if gate.all_ok:
        assert asked.refuse_reason == "heartbeat-fresh"


def test_no_combination_of_two_records_and_a_dispatch_takes_over_beside_a_fresh_or_broken_one():
    records = (FRESH, STALE, DONE, BAD, STALE_BAD, UNREADABLE)
    for first, second, dispatched in product(records, records, (None, DAMAGED, JUST_NOW, LONG_AGO)):
        judged = judge("leaf-7", [first, second], dispatched, NOW)
        if {id(first), id(second)} & {id(FRESH), id(BAD), id(UNREADABLE)}:
            assert not judged.takeover


def test_the_startup_grace_is_three_minutes():
    assert STARTUP_GRACE_SECONDS == 180
