"""What is read again between a key and its act: the newest evidence counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from recovery.desk import restored, stranded
from recovery.given import FILES, RUN, WORKTREE

from strawboss.recovery.commands import ClosePane, Command, ReadRegistry, SendIntercom

ROADS = {
    "nudged": stranded,
    "closing": restored,
    "continued": lambda: restored(files={RUN: replace(FILES, worktree=WORKTREE)}),
}


@pytest.mark.parametrize(
    ("named", "acts"), [("*", 0), (RUN[:3] + "*", 0), (RUN, 0), ("ffffffff", 1)], ids=str
)
@pytest.mark.parametrize("key", ROADS)
def test_a_line_torn_since_the_look_began_stops_the_act_if_it_may_hold_a_key_of_the_run(
    key: str, named: str, acts: int
) -> None:
    desk: Any = ROADS[key]()
    desk.look()

    def torn_while_the_key_is_written(command: Command) -> None:
        if isinstance(command, ReadRegistry) and key in desk.effects():
            desk.transcript = replace(desk.transcript, torn_keys=frozenset({named}))

    desk.before = torn_while_the_key_is_written
    desk.look()
    assert key in desk.effects()
    assert len(desk.did(ClosePane) + desk.did(SendIntercom)) == acts
