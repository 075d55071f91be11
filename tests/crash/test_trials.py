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
}


@pytest.mark.parametrize("name", TRIALS)
def test_an_ordering_turned_around_in_the_core_is_caught(name):
    assert caught_by(TRIALS[name]).partition(":")[0] == CATCHES[name]
