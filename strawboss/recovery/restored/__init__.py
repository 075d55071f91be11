"""The restored case: a run whose pane a herdr restart brought back as a plain pi is closed and handed to its launcher.

`conditions` says when, `machine` is the table, `numbers` what decides in it. The road after the proof: `close` (the
key, the proof once more, the pane), or `worktree` (the pane stays, a child that was cut off is told to go on); then
`tell` (one message to the launcher, `resumed` once it is taken). `go_on` goes on with what an earlier look or process
began, `fail` records a step that failed, `say_given_up` says what must be said when nothing can be done. The words are in
`messages`; whether the last turn was cut is judged in `recovery/turn.py`.
"""

from strawboss.recovery.known import Commands, Known
from strawboss.recovery.machine import Machine
from strawboss.recovery.recheck import with_witnesses
from strawboss.recovery.restored import conditions, machine, numbers
from strawboss.recovery.restored.close import recover_found
from strawboss.recovery.restored.go_on import go_on
from strawboss.recovery.restored.say_given_up import say_given_up
from strawboss.recovery.restored.tell import tell_launcher


def act(known: Known) -> Commands:
    yield from recover_found(known)
    yield from say_given_up(known)
    yield from tell_launcher(known)


RESTORED = Machine(
    name=machine.NAME,
    table=machine.TRANSITIONS,
    ended=machine.ENDED,
    under_way=machine.UNDER_WAY,
    follows="",
    last_miss=numbers.LAST_MISS,
    is_miss=conditions.is_miss,
    by_files=conditions.BY_FILES,
    by_roster=(),
    by_panes=conditions.BY_PANES,
    by_processes=conditions.BY_PROCESSES,
    by_witnesses=conditions.BY_WITNESSES,
    hear=with_witnesses,
    stands=machine.stands,
    pane=lambda facts: facts.launch_pane,
    found=conditions.where_it_is_found,
    called=conditions.called,
    go_on=go_on,
    act=act,
)
