"""Whoever knows the child and has something to say must agree: at both looks, and right before an act.

One list for the nudge, the close of a restored pane and what is said to and of a child in a worktree. Beside it, each
asks herdr (an idle pi) and the processes of the pane, which differ: the nudge wants the launch script there, the others
no script at all.

In a worktree nothing is closed, and its launcher is told of a child that cannot be reached: there a witness that cannot
be asked holds back only the text to the child, one that says otherwise holds back every word.
"""

from __future__ import annotations

from strawboss.recovery.facts import Facts, is_idle
from strawboss.recovery.machine import Conditions
from strawboss.recovery.verdict import YES, Said, Unknown, condition, no, unknown


@condition("its session file can be read")
def session_file_is_readable(facts: Facts) -> Said:
    return unknown(facts.tail) if isinstance(facts.tail, Unknown) else YES


@condition("pi-intercom does not say otherwise")
def intercom_agrees(facts: Facts) -> Said:
    """Whom the roster knows in that pane must be the child's session, idle.

    herdr's status can stay frozen at idle (N01), and a pane may show a session its pi has left (R06).
    """
    if isinstance(facts.roster, Unknown):
        return _silent(facts, facts.roster)
    session = None if isinstance(facts.tail, Unknown) else facts.tail.session_id
    there = facts.peers_there
    if len(there) > 1:
        return unknown("it knows two sessions there")
    if not there:
        return YES
    if session is not None and there[0].id != session:
        return unknown("the pi in its pane is on another session")
    return YES if is_idle(there[0].status) else no(f"it says {there[0].status}")


@condition("pi-intercom knows its session in no other place")
def is_nowhere_else(facts: Facts) -> Said:
    """Whoever is connected as its session works with it, in whatever terminal."""
    roster, tail = facts.roster, facts.tail
    if isinstance(roster, Unknown):
        return _silent(facts, roster)
    if isinstance(tail, Unknown):
        return YES if facts.is_worktree else unknown(tail)
    there = facts.peers_there
    elsewhere = [peer for peer in roster if peer.id == tail.session_id and peer not in there]
    return unknown(f"process {elsewhere[0].pid} is on it too") if elsewhere else YES


def _silent(facts: Facts, roster: Unknown) -> Said:
    """Where no broker runs nobody could have known the child, unless one did before it went."""
    if facts.is_worktree:
        return YES
    if not roster.absent:
        return unknown(roster)
    return unknown(f"it knew the child before: {roster.why}") if facts.was_connected else YES


@condition("no newer session file goes on from it")
def is_not_forked(facts: Facts) -> Said:
    """A fork moves the live session to a new file whose header names the old one, which then looks abandoned."""
    if isinstance(facts.forks, Unknown):
        return unknown(facts.forks)
    return unknown("a newer session file names it as its parent") if facts.forks else YES


@condition("nothing of it has moved since the look before")
def stands_still(facts: Facts) -> Said:
    """Whatever a status says, a child whose files grow is at work."""
    before, now = facts.before, facts.standing
    if now is None:
        return YES if facts.is_worktree else session_file_is_readable.judge(facts)
    if before is None:
        return YES
    if before.step != now.step:
        return no("its session file has a new step")
    return YES if before.active_at == now.active_at else no("its activity file was written again")


WITNESSES: Conditions = (
    intercom_agrees,
    is_nowhere_else,
    is_not_forked,
    stands_still,
)
