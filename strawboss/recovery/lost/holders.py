"""Who may hold a session: asked of the machine, only for a run that everything else calls lost."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from strawboss.recovery.commands import Command, FindForks, FindHolders, Identify, ListSessions, ReadTail
from strawboss.recovery.facts import NOT_ASKED, Facts


def with_holders(facts: Facts) -> Generator[Command, Any, Facts]:
    """The facts with the processes that may be on its session, the noted pi as it is now, and its session file."""
    if facts.script is None:
        return facts
    file, noted = facts.session_file, facts.keys.pi
    roster = facts.roster
    if roster is NOT_ASKED:
        roster = yield ListSessions()
    return replace(
        facts,
        roster=roster,
        holders=(yield FindHolders(file, facts.script.path)),
        pi=None if noted is None else (yield Identify(noted.pid)),
        tail=(yield ReadTail(file)),
        forks=(yield FindForks(file)),
    )
