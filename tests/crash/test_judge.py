"""Each check of the judge lets the right act pass and names the invariant that a wrong one breaks."""

import ast
import typing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from crash.judge import (
    WITHOUT_A_KEY,
    BrokenInvariantError,
    Record,
    Truth,
    Warnings,
    has_converged,
    is_no_typing,
    judge,
    sent,
    taken,
    undone,
    warned,
)

import strawboss
from strawboss.recovery import commands as c
from strawboss.recovery.evidence import KeyEntry

ORDINARY = Truth("ordinary", tracked=False, reported=False, occupant="restored")
CHILD = replace(ORDINARY, occupant="child")
GONE = replace(ORDINARY, occupant="nobody")
WORKTREE = replace(ORDINARY, kind="worktree")
IN_T2 = replace(WORKTREE, stranding="t2")


def with_keys(*keys, **changes):
    return Record(keys=tuple(KeyEntry(key, "r", {"terminal": "t1"}) for key in keys), **changes)


CLOSING = with_keys("seen", "closing")
FAILED = replace(CLOSING, asked_keys=frozenset({"gaveUp"}))
RIGHT = {
    "ask": (with_keys("nudged"), CHILD),
    "close": (CLOSING, ORDINARY),
    "continue": (with_keys("continued"), WORKTREE),
    "tell": (replace(CLOSING, closed=1), GONE),
    "resumed": (replace(CLOSING, told=1), GONE),
    "give up": (FAILED, ORDINARY),
    "lost": (with_keys("seen"), GONE),
    "claim": (with_keys("seen"), GONE),
}
MORE = "it was recovered before, and nobody asked for more"
AGAIN = {act: RIGHT[act] for act in ("ask", "close", "continue", "tell", "claim")}
CLAIMED = Record(keys=(KeyEntry("lost", "r", {"then": "resume"}),))
WRONG = [
    ("I1", "ask", with_keys(), CHILD),
    ("I1", "ask", with_keys("nudged", "unnudged"), CHILD),
    ("I1", "close", with_keys("seen"), ORDINARY),
    ("I1", "close", with_keys("seen", "closing", "unclosed"), ORDINARY),
    ("I1", "continue", with_keys(), WORKTREE),
    ("I1", "tell", with_keys("seen", "closing", "unclosed", closed=1), GONE),
    ("I1", "resumed", CLOSING, GONE),
    ("I2", "ask", with_keys("nudged", asked=1), CHILD),
    ("I2", "close", replace(CLOSING, closed=1), ORDINARY),
    ("I2", "continue", with_keys("continued", continued_in=frozenset({"t2"})), IN_T2),
    ("I2", "tell", replace(CLOSING, closed=1, told=1, told_in=frozenset({""})), GONE),
    ("I2", "tell", with_keys("continued", told=1, told_in=frozenset({"t2"})), IN_T2),
    ("I2", "tell", replace(CLOSING, closed=1, queued=1), GONE),
    ("I5", "ask", with_keys("nudged"), replace(CHILD, tracked=True)),
    ("I5", "ask", with_keys("nudged"), replace(CHILD, occupant="person")),
    ("I5", "close", CLOSING, replace(ORDINARY, reported=True)),
    ("I5", "close", CLOSING, replace(ORDINARY, doubts=("processes is not known",))),
    ("I5", "close", CLOSING, WORKTREE),
    ("I5", "close", CLOSING, replace(ORDINARY, kind="persistent")),
    ("I5", "close", CLOSING, replace(ORDINARY, at_work="the roster says that it works")),
    ("I5", "close", CLOSING, replace(ORDINARY, forked=True)),
    ("I5", "ask", with_keys("nudged"), replace(CHILD, at_work="its files have grown")),
    ("I5", "ask", with_keys("nudged"), replace(CHILD, forked=True)),
    ("I5", "continue", with_keys("continued"), replace(WORKTREE, at_work="its files have grown")),
    ("I5", "continue", with_keys("continued"), replace(WORKTREE, forked=True)),
    ("I5", "continue", with_keys("continued"), replace(WORKTREE, occupant="person")),
    ("I5", "lost", with_keys("seen"), replace(GONE, doubts=("transcript is torn",))),
    ("I5", "lost", with_keys("seen"), replace(GONE, forked=True)),
    ("I5", "lost", with_keys("seen"), CHILD),
    ("I5", "claim", with_keys("seen"), CHILD),
    ("I5", "claim", with_keys("seen"), replace(GONE, kind="worktree")),
    ("I5", "claim", with_keys("seen"), replace(GONE, at_work="somebody is on it outside herdr")),
    ("I5", "claim", with_keys("seen"), replace(GONE, doubts=("holders is silent",))),
    ("I5", "tell", CLAIMED, replace(GONE, doubts=("holders is not known",))),
    ("I5", "tell", CLAIMED, ORDINARY),
    *(("I5", act, record, replace(truth, again=MORE)) for act, (record, truth) in AGAIN.items()),
    ("I5", "tell", replace(CLOSING, closed=1), replace(GONE, forked=True)),
    ("I5", "tell", replace(CLOSING, closed=1), replace(GONE, grown=True)),
    ("I5", "tell", CLOSING, ORDINARY),
    ("I5", "tell", replace(CLOSING, closed=1), replace(GONE, reported=True)),
    ("I6", "close", CLOSING, replace(ORDINARY, occupant="person")),
    ("I6", "close", CLOSING, replace(ORDINARY, occupant="unknown")),
    ("I7", "lost", with_keys("seen", "resumed", "lost"), GONE),
    ("I7", "claim", with_keys("seen", "lost"), GONE),
    ("I7", "give up", CLOSING, ORDINARY),
    ("I7", "give up", replace(FAILED, warned=1), ORDINARY),
    ("I7", "give up", with_keys("gaveUp", ever_warned=True), ORDINARY),
]


@pytest.mark.parametrize("act", RIGHT)
def test_the_right_act_passes(act):
    judge(act, *RIGHT[act])


@pytest.mark.parametrize(("name", "act", "record", "truth"), WRONG)
def test_a_wrong_act_breaks_its_invariant(name, act, record, truth):
    with pytest.raises(BrokenInvariantError) as broken:
        judge(act, record, truth)
    assert broken.value.name == name


@pytest.mark.parametrize(
    "record",
    [
        CLOSING,
        with_keys("seen", closed=1),
        with_keys("seen", told=1),
        with_keys("seen", queued=1),
        with_keys("continued"),
    ],
)
def test_what_is_half_done_has_not_converged(record):
    with pytest.raises(BrokenInvariantError, match="I4"):
        has_converged(record, GONE)


def test_a_worktree_run_that_was_handed_over_since_may_be_lost_again():
    judge("lost", with_keys("seen", "lost", "resumed"), replace(GONE, kind="worktree"))


def test_a_claim_has_converged_once_its_launcher_is_told_or_while_somebody_holds_the_run():
    has_converged(CLAIMED, replace(GONE, doubts=("holders is named",)))
    has_converged(CLAIMED, ORDINARY)
    with pytest.raises(BrokenInvariantError, match="I4"):
        has_converged(CLAIMED, GONE)


def test_a_worktree_run_that_was_handed_over_is_not_done_with_once_it_is_told_to_go_on_again():
    handed = (KeyEntry("resumed", "r", {"terminal": "t2"}),)
    has_converged(Record(keys=handed, told=1), IN_T2)
    for half_done in (
        Record(keys=(*handed, KeyEntry("continued", "r")), told=1),
        Record(keys=handed, told=2),
    ):
        with pytest.raises(BrokenInvariantError, match="I4"):
            has_converged(half_done, IN_T2)


def test_what_was_done_in_one_stranding_may_be_done_in_the_next():
    record = taken(sent(with_keys("continued"), "continue", "t2"), "t2")
    judge("continue", record, replace(WORKTREE, stranding="t3"))
    judge("tell", record, replace(WORKTREE, stranding="t3"))
    assert (record.continued, record.told, record.asked) == (1, 1, 0)
    assert sent(record, "ask", "").asked == 1


@pytest.mark.parametrize("key", ["resumed", "gaveUp", "nudged"])
def test_a_run_that_ended_has_converged(key):
    has_converged(replace(CLOSING, keys=(*CLOSING.keys, KeyEntry(key, "r")), closed=1, told=1), GONE)


def test_a_nudge_that_was_taken_back_has_not_ended_its_run():
    with pytest.raises(BrokenInvariantError, match="I4"):
        has_converged(with_keys("nudged", "unnudged", closed=1), GONE)


@pytest.mark.parametrize("changes", [{}, {"asked": 1}, {"asked_keys": frozenset({"nudged", "unnudged"})}])
def test_a_nudge_whose_key_is_sure_leaves_or_is_taken_back_in_the_same_look(changes):
    record = with_keys("nudged", sure_keys=frozenset({"nudged"}), **changes)
    if changes:
        undone(record)
    else:
        with pytest.raises(BrokenInvariantError, match="I4"):
            undone(record)


def test_a_second_warning_of_one_unconfirmed_key_breaks_i7():
    text = 'Straw Boss could not confirm its closing key for "zeta" (run r) in this session\'s file'
    once = warned(CLOSING, ORDINARY, text)
    with pytest.raises(BrokenInvariantError, match="I7"):
        warned(once, ORDINARY, text)


def test_a_warning_is_about_the_runs_whose_id_or_file_it_names():
    warnings = Warnings({"r1": "/s/one.jsonl", "r2": "/s/two.jsonl", "r3": "/s/three.jsonl"})
    assert list(warnings.of("gave up on run r1; resume /s/three.jsonl by hand")) == ["r1", "r3"]


def test_every_command_of_the_core_is_known_and_none_types():
    known = {*typing.get_args(c.Read), *typing.get_args(c.Effect)}
    assert known == {
        one for one in vars(c).values() if isinstance(one, type) and one.__module__ == c.__name__
    } - {
        c.Outcome,
        c.Result,
        c.SessionState,
    }
    is_no_typing(c.ClosePane("w1:p1"))


def test_a_command_that_is_not_known_breaks_i8():
    @dataclass
    class SendKeys:
        pane: str

    with pytest.raises(BrokenInvariantError, match="I8"):
        is_no_typing(SendKeys("w1:p1"))


def test_herdr_is_only_asked_to_list_to_show_and_to_close():
    tree = ast.parse((Path(strawboss.__file__).parent / "herdr/client.py").read_text())
    calls = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]
    asked = {
        call.args[0].value
        for call in calls
        if call.func.attr in {"_read", "_ask"} and isinstance(call.args[0], ast.Constant)
    }
    shown = {"notification.show", "plugin.pane.open"}
    assert asked <= {"ping", "pane.list", "pane.process_info", "pane.close", *shown}
    assert "pane.close" in asked


@pytest.mark.parametrize("words", WITHOUT_A_KEY)
def test_what_no_key_records_is_said_once_in_a_session_start(words):
    record = warned(CLOSING, ORDINARY, f"Straw Boss: {words}.")
    with pytest.raises(BrokenInvariantError, match="a second time"):
        warned(record, ORDINARY, f"Straw Boss: {words}.")
    assert warned(record.at_session_start(), ORDINARY, f"Straw Boss: {words}.") == record
