"""The lost case: a run that was seen running and left no pane to act on. A person is told, or its launcher resumes it.

It follows the restored case: only when that gave up is it asked whether anybody holds the session. `conditions` says
when, `holders` asks the machine, `machine` is the table, `numbers` the numbers of looks, `say` gives the warning or claims
the run; `claim` hands a claimed run over, on the road of the restored case. Nothing is ever closed.
"""

from strawboss.recovery.lost import conditions, machine, numbers
from strawboss.recovery.lost.claim import go_on_claimed
from strawboss.recovery.lost.holders import with_holders
from strawboss.recovery.lost.say import act
from strawboss.recovery.machine import Machine
from strawboss.recovery.restored import machine as restored

LOST = Machine(
    name=machine.NAME,
    table=machine.TRANSITIONS,
    ended=machine.ENDED,
    under_way=frozenset(),
    follows=restored.NAME,
    last_miss=numbers.LAST_MISS,
    is_miss=conditions.is_miss,
    by_files=conditions.BY_FILES,
    by_roster=(),
    by_panes=conditions.BY_PANES,
    by_processes=conditions.BY_PROCESSES,
    by_witnesses=conditions.BY_WITNESSES,
    hear=with_holders,
    stands=machine.stands,
    pane=conditions.pane_left,
    found=conditions.what_is_found,
    called=lambda _: machine.NAME,
    go_on=go_on_claimed,
    act=act,
)
