import pytest
from crash.trials import TRIALS, caught_by

pytestmark = pytest.mark.slow

# What catches each; docs/assurance.md lists the same.
CATCHES = {
    "key after effect: nudge": "I1",
    "key after effect: close": "I1",
    "no re-check before close": "I5",
    "resumed before the message is seen": "I1",
    "give-up not recorded": "I7",
    "fold order reversed": "I4",
    "the roster asked before the key": "I5",
    "a busy roster holds back no word of a worktree child": "I5",
    "a witness who could be asked at one of the two looks has agreed at both": "I5",
    "a broker that knew the child and is gone never knew it": "I5",
    "a closed run is told of though its session moved on": "I5",
    "a worktree child is said to wait by what the look heard": "I5",
    "the other witnesses asked after the launcher's file": "I5",
    "key after the word: stranded again": "I7",
    "recovered again before anybody asked for it": "I5",
    "recovered again once too often": "I5",
    "a result from before the resume counts, one after it does not": "I5",
    "late key before the pane list": "I4",
    "a lost run handed over before anybody is asked who holds it": "I5",
    "a lost run recovered again before anybody asked for it": "I5",
    "a lost run handed over past a shell in its terminal": "I5",
    "a lost run asked after only before a wait": "I5",
}


@pytest.mark.parametrize("name", TRIALS)
def test_an_ordering_turned_around_in_the_core_is_caught(name):
    assert caught_by(TRIALS[name]).partition(":")[0] == CATCHES[name]
