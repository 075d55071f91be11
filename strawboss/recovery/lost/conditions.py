"""When a run that was seen running is lost: nobody holds its session, and no pane is left to act on.

A stored session is not a pi: a bare shell whose pane still names the session holds nothing.
"""

from __future__ import annotations

from strawboss.recovery.again import why_left_to_a_person
from strawboss.recovery.conditions import (
    has_launch_script,
    has_not_been_acted_on,
    is_not_persistent,
    is_unreported,
    is_untracked,
    launcher_is_alone,
    panes_are_listed,
    was_not_resumed_since,
)
from strawboss.recovery.evidence import Identity, Pane
from strawboss.recovery.facts import Facts, is_pi, names_a_script
from strawboss.recovery.lost.numbers import SAME_START_SECONDS
from strawboss.recovery.machine import Conditions
from strawboss.recovery.restored.conditions import (
    has_never_ended,
    has_something_left,
    launcher_may,
    was_seen_running,
)
from strawboss.recovery.settings import Beyond
from strawboss.recovery.verdict import (
    YES,
    Answer,
    Said,
    Unknown,
    Verdict,
    condition,
    first_obstacle,
    no,
    unknown,
)
from strawboss.recovery.witnesses import is_not_forked, session_file_is_readable


@condition("lost runs are looked for")
def is_on(facts: Facts) -> Said:
    return no("lost: off in the config") if facts.settings.lost is Beyond.OFF else YES


@condition(is_not_forked.sentence)
def no_fork_is_there(facts: Facts) -> Said:
    return YES if isinstance(facts.forks, Unknown) and facts.forks.absent else is_not_forked.judge(facts)


@condition("nobody was told of it before")
def was_not_said(facts: Facts) -> Said:
    """A worktree run that was handed over since may be lost again, as it may be stranded again."""
    if facts.keys.lost:
        return no("it was said that it is lost")
    if facts.keys.warned_in and (not facts.is_worktree or why_left_to_a_person(facts)):
        return no("it was said that it is stranded")
    return no("a close that was taken back was told") if facts.keys.taken_back else YES


@condition("no pane is the terminal in which somebody was told of it")
def that_terminal_is_gone(facts: Facts) -> Said:
    """Only a worktree run keeps its pane then. Whoever leaves the pi there, or moves the pane, has seen to it."""
    if isinstance(facts.panes, Unknown):
        return unknown(facts.panes)
    there = [pane.id for pane in facts.panes if pane.terminal in facts.keys.dealt_with]
    return no(f"pane {there[0]} is") if there else YES


def pane_left(facts: Facts) -> Pane | None:
    """Where a pi of the run could be: in the terminal it was seen in, else where its session or its script points."""
    return facts.noted_pane or facts.pane or facts.launch_pane


@condition("one pane at most could hold it")
def one_pane_is_left(facts: Facts) -> Said:
    """Only one pane's processes are asked for, and which one must not hang on the order of a list."""
    if isinstance(facts.panes, Unknown):
        return unknown(facts.panes)
    noted = () if facts.noted_pane is None else (facts.noted_pane,)
    ids = sorted({pane.id for pane in (*facts.own_panes, *noted)})
    return unknown(f"panes {', '.join(ids)} could") if len(ids) > 1 else YES


@condition("no pi of it is in the pane that is left")
def no_pi_is_left(facts: Facts) -> Said:
    """A pane whose processes herdr cannot list says nothing: then the machine's own list decides."""
    pane = pane_left(facts)
    if pane is None:
        return unknown(facts.panes) if isinstance(facts.panes, Unknown) else YES
    if isinstance(facts.processes, Unknown):
        return unknown(facts.processes) if pane == facts.noted_pane else YES
    if any(names_a_script(process) for process in facts.processes):
        return no(f"a launch or resume script runs in pane {pane.id}")
    mine = pane.id == (facts.script and facts.script.surface) or pane in facts.own_panes
    return no(f"a pi runs in pane {pane.id}") if mine and any(map(is_pi, facts.processes)) else YES


@condition("nobody holds its session")
def nobody_holds_it(facts: Facts) -> Said:
    """No process of this machine that can be read names its session file or its script."""
    if isinstance(facts.holders, Unknown):
        return unknown(facts.holders)
    if facts.holders.naming:
        return no(f"process {facts.holders.naming[0].pid} names its session file or its script")
    return YES


@condition("the pi that ran it is gone")
def its_pi_is_gone(facts: Facts) -> Said:
    """By pid, start and boot. A key that noted no pi (an older one) says nothing."""
    noted, now = facts.keys.pi, facts.pi
    if noted is None:
        return YES
    if isinstance(now, Unknown):
        return unknown(now)
    return no(f"it still runs as process {noted.pid}") if now is not None and _is_same(noted, now) else YES


def _is_same(noted: Identity, now: Identity) -> bool:
    return noted.boot == now.boot and abs(noted.started - now.started) <= SAME_START_SECONDS


@condition("its session file stands still")
def nothing_grows(facts: Facts) -> Said:
    before, now = facts.before, facts.standing
    if before is None or now is None or before.step == now.step:
        return YES
    return no("it has a new step")


@condition("pi-intercom knows no pi on its session")
def intercom_knows_no_pi(facts: Facts) -> Said:
    """A session that is connected is alive, wherever it is and whatever herdr lists. Where its file cannot be read, nobody
    knows its id, but the pid of the pi that was noted.
    """
    if isinstance(facts.roster, Unknown):
        return YES if facts.roster.absent else unknown(facts.roster)
    session = None if isinstance(facts.tail, Unknown) else facts.tail.session_id
    pid = facts.keys.pi and facts.keys.pi.pid
    alive = [peer for peer in facts.roster if peer.id == session or peer.pid == pid]
    return no(f"process {alive[0].pid} is connected as its session") if alive else YES


# -- what more must hold to have it resumed; where it does not, a person is told ------------------------------------


@condition("it runs in no managed worktree")
def is_no_worktree_run(facts: Facts) -> Said:
    return no("pi-herdr-agents does not resume a run in a managed worktree") if facts.is_worktree else YES


@condition("it may be recovered again")
def may_be_recovered(facts: Facts) -> Said:
    why = why_left_to_a_person(facts)
    return no(why) if why else YES


@condition("no pane is on its session file or in the terminal it was seen in")
def no_pane_is_left(facts: Facts) -> Said:
    """Not even with a bare shell in it: somebody may go on from there. A new terminal that names no session is none of it,
    unless herdr takes it for a pi and cannot say what runs there.
    """
    if isinstance(facts.panes, Unknown):
        return unknown(facts.panes)
    if facts.own_panes:
        return no(f"pane {facts.own_panes[0].id} is on its session file")
    if facts.noted_pane is not None:
        return no(f"pane {facts.noted_pane.id} is the terminal it was seen in")
    pane = facts.launch_pane
    if pane is not None and pane.agent is not None and isinstance(facts.processes, Unknown):
        return unknown(facts.processes)
    return YES


@condition("the pi that ran it was noted")
def its_pi_was_noted(facts: Facts) -> Said:
    return YES if facts.keys.pi is not None else unknown("which pi ran it was not noted")


@condition("every pi of this user is known to be on something else")
def nobody_else_could(facts: Facts) -> Said:
    if isinstance(facts.holders, Unknown):
        return unknown(facts.holders)
    if facts.holders.unreadable:
        return unknown(f"process {facts.holders.unreadable[0]} is a pi that cannot be read")
    roster = () if isinstance(facts.roster, Unknown) else facts.roster
    session = None if isinstance(facts.tail, Unknown) else facts.tail.session_id
    elsewhere = {peer.pid for peer in roster if peer.id != session} | {facts.launcher.pid}
    strangers = [pid for pid in facts.holders.silent if pid not in elsewhere]
    return unknown(f"process {strangers[0]} is a pi, and nobody knows on which session") if strangers else YES


BY_FILES: Conditions = (
    is_on,
    launcher_may,
    is_untracked,
    has_launch_script,
    is_unreported,
    was_not_resumed_since,
    is_not_persistent,
    has_not_been_acted_on,
    has_never_ended,
    has_something_left,
    was_seen_running,
    was_not_said,
)
BY_PANES: Conditions = (panes_are_listed, launcher_is_alone, that_terminal_is_gone, one_pane_is_left)
BY_PROCESSES: Conditions = (no_pi_is_left,)
BY_WITNESSES: Conditions = (
    intercom_knows_no_pi,
    nobody_holds_it,
    its_pi_is_gone,
    nothing_grows,
    no_fork_is_there,
)
TO_RESUME: Conditions = (
    is_no_worktree_run,
    session_file_is_readable,
    may_be_recovered,
    no_pane_is_left,
    its_pi_was_noted,
    nobody_else_could,
)
# What must hold once more when it is handed over, maybe by another process.
STILL_LOST: Conditions = (panes_are_listed, one_pane_is_left, no_pi_is_left, *BY_WITNESSES, *TO_RESUME)
# Where these are unknown the world could not be asked.
NOT_COUNTED: Conditions = (panes_are_listed, launcher_is_alone, intercom_knows_no_pi)


def is_miss(_: Facts, obstacle: Verdict) -> bool:
    return not (obstacle.answer is Answer.UNKNOWN and obstacle.is_of(NOT_COUNTED))


def what_is_found(facts: Facts) -> str:
    """Another thing there starts the proof again; so does what hinders a handover that is asked for, at only one look."""
    obstacle = first_obstacle(facts, TO_RESUME) if facts.settings.lost is Beyond.RECOVER else None
    return f"{what_is_left(facts)} {obstacle.of if obstacle else ''}"


def what_is_left(facts: Facts) -> str:
    """What is there now, for a person."""
    file = ", and its session file cannot be read" if isinstance(facts.tail, Unknown) else ""
    pane = pane_left(facts)
    if pane is None:
        return f"herdr lists no pane of it{file}"
    holds = "holds no pi" if not isinstance(facts.processes, Unknown) else "holds nothing that herdr can list"
    return f"its pane {pane.id} {holds}{file}"
