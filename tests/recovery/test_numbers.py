"""The numbers that were agreed on, each stated once; all other tests, and the documents, take them from the code."""

from __future__ import annotations

import pytest

from strawboss.recovery import again, memory, noting, settings, turn
from strawboss.recovery.lost import numbers as lost
from strawboss.recovery.nudge import numbers as nudge
from strawboss.recovery.restored import numbers as restored


@pytest.mark.parametrize(
    ("number", "agreed"),
    [
        pytest.param(settings.LOOK_SECONDS, 15, id="seconds between two looks"),
        pytest.param(nudge.LAST_MISS, 4, id="looks until a nudge is given up"),
        pytest.param(restored.LAST_MISS, 8, id="looks until a restored run is given up"),
        pytest.param(lost.LAST_MISS, 4, id="looks until a lost run is given up"),
        pytest.param(again.MOST_TIMES, 3, id="times that one task is handed over"),
        pytest.param(restored.REACH_LOOKS, 4, id="looks for a worktree child to be reachable"),
        pytest.param(restored.GONE_SECONDS, 5, id="seconds for a closed pane to be gone"),
        pytest.param(restored.PUTS, 3, id="times that the launcher's message is put"),
        pytest.param(noting.NOTING_LOOKS, 8, id="looks until a run is not noted any more"),
        pytest.param(turn.ABORT_SECONDS, 2, id="seconds between an abort and its shutdown"),
        pytest.param(memory.JUMP_SECONDS, 10, id="seconds that the clocks may move apart"),
    ],
)
def test_it_is_the_one_agreed_on(number: float, agreed: float) -> None:
    assert number == agreed
