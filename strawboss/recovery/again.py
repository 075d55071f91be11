"""A run that was recovered before and is stranded again: recovered once more if asked for, else a person is told."""

from __future__ import annotations

from strawboss.recovery import messages
from strawboss.recovery.commands import Notify
from strawboss.recovery.facts import Facts
from strawboss.recovery.journal import Asks, write_key
from strawboss.recovery.keys import WARNED
from strawboss.recovery.known import Known
from strawboss.recovery.settings import Beyond
from strawboss.recovery.verdict import Named
from strawboss.recovery.wording import times

MOST_TIMES = 3  # one task is handed over, whatever the ids of its runs; the next time a person is warned

FIRST_TIME = Named("again.it_was_not_recovered_before", "it was not recovered before")


def why_left_to_a_person(facts: Facts) -> str:
    """Empty for a run to be recovered."""
    if facts.times_recovered == 0:
        return ""
    if facts.times_recovered >= MOST_TIMES:
        return f"this task has been resumed {times(MOST_TIMES)}"
    if facts.settings.resumed is not Beyond.RECOVER:
        return "it was recovered before, and `resumed: recover` in the config is what has that done again"
    return ""


def warn_of_stranding(known: Known, run: str, machine: str, why: str, by_hand: str) -> Asks:
    """One warning: its key says so, and in which terminal it was stranded. Whether the key is durable."""
    facts = known.facts[run]
    pane = facts.pane or facts.launch_pane
    terminal = {"terminal": pane.terminal} if pane is not None and pane.terminal is not None else {}
    if not (yield from write_key(known, WARNED, run, **terminal)):
        return False
    known.obstruct(run, machine, FIRST_TIME.no(why))
    yield Notify("warning", messages.stranded_again(facts.name, run, facts.session_file, why, by_hand))
    return True
