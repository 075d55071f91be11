from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from recovery.given import key

from strawboss.recovery.evidence import KeyEntry
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
    assert of(key("nudged")).acted == "nudged"
    assert of(key("resumed")).acted == "resumed"
    assert of(key("gaveUp", why="it broke")).acted == "gaveUp"
    for name in ("seen", "closing", "unclosed", "continued", "lost"):
        assert of(key(name)).acted is None


def test_a_gave_up_without_a_reason_is_still_one() -> None:
    assert of(key("gaveUp")).gave_up == ""
    assert of(key("gaveUp")).acted == "gaveUp"


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
        assert keys.acted is None or whole[run].acted is not None
