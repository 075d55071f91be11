"""What is read again between a key and its act: the newest evidence counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from recovery.desk import restored, stranded
from recovery.given import FILE, FILES, RUN, WORKTREE

from strawboss.recovery.commands import ClosePane, Command, Read, ReadRegistry, SendIntercom

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


@pytest.mark.parametrize("key", ROADS)
def test_a_result_that_lands_at_any_point_between_the_key_and_the_act_stops_it(key: str) -> None:
    """Before the first thing that is read again, before the second, … before the last."""
    for place in range(1, 100):
        desk: Any = ROADS[key]()
        desk.look()
        reads: list[Command] = []

        def lands(command: Command, desk: Any = desk, place: int = place, reads: list[Any] = reads) -> None:
            if key in desk.effects() and isinstance(command, Read) and not acts_of(desk):
                reads.append(command)
                if len(reads) == place:
                    desk.transcript = replace(desk.transcript, results=frozenset({FILE}))

        desk.before = lands
        desk.look()
        if len(reads) < place:
            assert place > 8
            return
        assert acts_of(desk) == [], reads


def acts_of(desk: Any) -> list[Command]:
    return [*desk.did(ClosePane), *desk.did(SendIntercom)]
