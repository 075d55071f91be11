from __future__ import annotations

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st
from recovery.given import key

from strawboss.recovery.evidence import Identity, KeyEntry
from strawboss.recovery.keys import FOLD, RunKeys, fold

NAMES = st.sampled_from([*FOLD, "aNewerKey", ""])
ENTRIES = st.lists(st.builds(KeyEntry, NAMES, st.sampled_from(["a", "b"]), st.just({"terminal": "t"})))


def of(*entries: KeyEntry) -> RunKeys:
    return fold(entries)["a1b2c3d4"]


def test_a_run_without_keys_is_not_there() -> None:
    assert fold([]) == {}


def test_seen_gives_the_last_terminal_and_pane() -> None:
    keys = of(key("seen", terminal="t1", pane="p1"), key("seen", terminal="t2", pane="p1"))
    assert (keys.terminal, keys.pane) == ("t2", "p1")


def test_a_seen_without_a_readable_terminal_is_unknown_whatever_was_seen_before() -> None:
    assert of(key("seen", terminal="t1"), KeyEntry("seen", "a1b2c3d4", {"terminal": 7})).terminal is None


def test_unclosed_takes_closing_back_and_is_remembered() -> None:
    closing = key("closing", pane="w1:p3")
    assert of(closing).closing == closing
    keys = of(closing, key("unclosed"))
    assert (keys.closing, keys.taken_back) == (None, True)
    again = of(closing, key("unclosed"), closing)
    assert (again.closing, again.taken_back) == (closing, True)


def test_nudged_resumed_and_gave_up_are_acts_and_the_others_are_not() -> None:
    assert of(key("nudged")).nudged
    assert of(key("resumed")).resumed
    assert of(key("gaveUp", why="it broke")).gave_up == "it broke"
    for name in ("seen", "closing", "unclosed", "continued", "lost"):
        assert not acted(of(key(name)))


def test_a_gave_up_without_a_reason_is_still_one() -> None:
    assert of(key("gaveUp")).gave_up == ""


def test_a_newer_versions_key_changes_nothing() -> None:
    assert of(key("nudged"), key("paused")) == of(key("nudged"))
    assert fold([key("paused")]) == {}


@given(ENTRIES, ENTRIES)
def test_the_fold_goes_by_run_in_file_order_and_an_act_is_never_forgotten(
    before: list[KeyEntry], after: list[KeyEntry]
) -> None:
    whole = fold(before + after)
    assert whole.get("a") == fold([one for one in before + after if one.run == "a"]).get("a")
    for run, keys in fold(before).items():
        assert not acted(keys) or acted(whole[run])


def acted(keys: RunKeys) -> bool:
    return keys.nudged or keys.resumed or keys.gave_up is not None


def test_a_nudge_that_was_taken_back_leaves_nothing() -> None:
    assert not of(key("nudged"), key("unnudged")).nudged


def test_a_seen_key_says_which_pi_it_was_unless_it_cannot() -> None:
    assert of(key("seen", pid="20", started="1.5", boot="b")).pi == Identity(20, 1.5, "b")
    assert of(key("seen", pid="?", started="1.5")).pi is None
    assert of(key("seen")).pi is None


def test_each_stranding_that_was_dealt_with_is_known_by_its_terminal() -> None:
    keys = of(key("continued"), key("resumed", terminal="t2"), key("warned", terminal="t3"))
    assert (keys.handed_in, keys.continued, keys.dealt_with) == ({"t2"}, False, {"t2", "t3"})


def test_a_lost_run_is_claimed_only_where_its_key_says_so() -> None:
    assert (of(key("lost")).lost, of(key("lost")).claimed) == (True, False)
    assert of(key("lost", then="resume")).claimed


def test_what_an_older_version_wrote_is_read_as_it_meant_it() -> None:
    """It noted no pi, and named no terminal where it handed a run over."""
    keys = of(
        key("seen", terminal="t1", pane="p1", at="2026-12-02T20:17:03Z"),
        key("continued", at="2026-12-02T20:18:04Z"),
        key("resumed", at="2026-12-02T20:18:05Z"),
    )
    assert (keys.terminal, keys.pane, keys.pi) == ("t1", "p1", None)
    assert (keys.resumed, keys.continued, keys.tells_strandings_apart) == (True, False, False)
    lost = of(key("seen", terminal="t1"), key("lost", at="2026-12-02T20:18:05Z"))
    assert (lost.lost, lost.claimed) == (True, False)


OLDER = FOLD.keys() - {"warned"}  # the keys an older version knows


@given(ENTRIES)
def test_an_older_version_learns_nothing_of_a_key_it_does_not_know(entries: list[KeyEntry]) -> None:
    """By the same fold with fewer keys: the entries it knows say the same with and without the others between them."""
    known = [entry for entry in entries if entry.key in OLDER]
    with patch.dict(FOLD, clear=False) as folds:
        del folds["warned"]
        assert fold(entries) == fold(known)
