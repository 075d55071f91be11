"""How a restored child's last turn stands, and what it is to be told, by whatever road."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from strawboss.recovery.commands import Command, FindForks, ReadTail
from strawboss.recovery.known import Known
from strawboss.recovery.restored import messages
from strawboss.recovery.turn import Turn, turn_of
from strawboss.recovery.wording import iso


def read_turn(known: Known, run: str) -> Generator[Command, Any, Turn]:
    """Read it again: somebody may have gone on with the child."""
    file = known.facts[run].session_file
    tail, forks = (yield ReadTail(file)), (yield FindForks(file))
    return turn_of(tail, forks, known.settings, known.facts[run].activity, restored=True)


def text_for(known: Known, run: str, turn: Turn) -> str:
    at, file = iso(known.now.wall), known.facts[run].session_file
    if turn.was_cut:
        return messages.cut_text(at, run, file, turn.at, turn.calls)
    return messages.follow_up(at, run, file, turn.at)
