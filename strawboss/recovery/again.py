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

MAY_BE_RECOVERED = Named("again.it_may_be_recovered_again", "it may be recovered again")


def why_left_to_a_person(facts: Facts) -> str:
    """Empty for a run to be recovered."""
    if facts.times_recovered == 0:
        return ""
    if facts.settings.resumed is not Beyond.RECOVER and not why_never_again(facts):
        return "it was recovered before; `resumed: recover` in the config has that done again"
    return why_never_again(facts)


def why_never_again(facts: Facts) -> str:
    """Whatever the settings say. Empty for a run that they decide about."""
    if "" in facts.keys.handed_in:
        return "it was told to go on before, by a version that did not note where: this may be that same stranding"
    if facts.times_recovered >= MOST_TIMES:
        return f"this task has been resumed {times(MOST_TIMES)}"
    return ""


def warn_of_stranding(known: Known, run: str, machine: str, why: str, by_hand: str, **noted: str) -> Asks:
    """One warning: its key says so, where it was stranded, and what else is `noted`. Whether the key is durable."""
    facts = known.facts[run]
    pane = facts.pane or facts.launch_pane
    place = {} if pane is None else {"pane": pane.id}
    if pane is not None and pane.terminal is not None:
        place["terminal"] = pane.terminal
    if not (yield from write_key(known, WARNED, run, **place, **noted, why=why)):
        return False
    known.obstruct(run, machine, MAY_BE_RECOVERED.no(why))
    yield Notify("warning", messages.stranded_again(facts.name, run, facts.session_file, why, by_hand))
    return True
