"""The nudge: a child that has finished in its own pane, and whose launcher forgot it, is asked for its report, once.

`conditions` says when, `machine` is the table, `numbers` the numbers of looks, `ask` writes the key and sends the message
(its words are in `messages`). A new condition is a function in `conditions`, put into one of the groups
there by what it costs to answer.
"""

from strawboss.recovery.machine import Machine
from strawboss.recovery.nudge import conditions, machine, numbers
from strawboss.recovery.nudge.ask import ask_found, nothing_to_go_on_with
from strawboss.recovery.recheck import with_witnesses

NUDGE = Machine(
    name=machine.NAME,
    table=machine.TRANSITIONS,
    ended=machine.ENDED,
    under_way=frozenset(),
    follows="",
    last_miss=numbers.LAST_MISS,
    is_miss=conditions.is_miss,
    by_files=conditions.BY_FILES,
    by_roster=conditions.BY_ROSTER,
    by_panes=conditions.BY_PANES,
    by_processes=conditions.BY_PROCESSES,
    by_witnesses=conditions.BY_WITNESSES,
    hear=with_witnesses,
    stands=machine.stands,
    pane=lambda facts: facts.pane,
    found=conditions.who_is_found,
    called=lambda _: machine.NAME,
    go_on=nothing_to_go_on_with,
    act=ask_found,
)
