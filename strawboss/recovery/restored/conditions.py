"""When a herdr restore brought a run back as a plain pi: the conditions, in order of cost."""

from __future__ import annotations

from strawboss.recovery.conditions import (
    has_launch_script,
    has_not_been_acted_on,
    is_a_new_stranding,
    is_not_persistent,
    is_unreported,
    is_untracked,
    launcher_is_alone,
    nobody_else_is_seen,
    panes_are_listed,
    was_not_resumed_since,
)
from strawboss.recovery.facts import IDLE_STATUSES, Facts, is_pi, names_a_script
from strawboss.recovery.machine import Conditions
from strawboss.recovery.verdict import YES, Said, Unknown, Verdict, condition, first_obstacle, no, unknown
from strawboss.recovery.witnesses import (
    WITNESSES,
    intercom_agrees,
    is_nowhere_else,
    session_file_is_readable,
)

NOTHING_LEFT = frozenset({"removed", "cancelled"})


@condition("the restored case is switched on")
def is_on(facts: Facts) -> Said:
    return YES if facts.settings.restored else no("restored: off in the config")


@condition("the launcher is neither a tower nor a subagent")
def launcher_may(facts: Facts) -> Said:
    """A tower does none of this, nor does a session that is a restored subagent itself."""
    if facts.launcher.tower:
        return no("it is a tower")
    if facts.launcher.nested:
        return no("a policy sidecar lies beside its session file: it is a subagent")
    return YES


@condition("the process list can prove a plain pi")
def platform_can_prove(facts: Facts) -> Said:
    """On Windows the process list cannot prove the absence of the script."""
    if facts.launcher.platform == "win32":
        return unknown("on Windows herdr lists one process only")
    return YES


@condition("it never ended")
def has_never_ended(facts: Facts) -> Said:
    """No `<session>.exit` beside its session file. Where that folder is gone, so is whatever could say that it ended."""
    ended = facts.files.ended
    if isinstance(ended, Unknown):
        return YES if ended.absent else unknown(ended)
    return no("ended: its exit sidecar is there") if ended else YES


@condition("the folder of its session is there")
def session_folder_is_there(facts: Facts) -> Said:
    """Without it nobody knows whether it ended: then nothing is closed, and it can only be lost."""
    ended = facts.files.ended
    return unknown(ended) if isinstance(ended, Unknown) else YES


@condition("its worktree still stands")
def has_something_left(facts: Facts) -> Said:
    """A worktree that was removed or cancelled has nothing to continue; one whose manifest is damaged is unknown."""
    worktree = facts.files.worktree
    if isinstance(worktree, Unknown):
        return unknown(worktree)
    if worktree is not None and worktree.state in NOTHING_LEFT:
        return no(f"its manifest says {worktree.state}")
    return YES


@condition("it was seen running its launch script")
def was_seen_running(facts: Facts) -> Said:
    """A run never seen running is unknown, and unknown is never closed."""
    return YES if facts.keys.terminal else unknown("it was never seen running")


@condition("the pane it ran in is there")
def pane_is_there(facts: Facts) -> Said:
    if facts.script is None:
        return unknown("its launch script is not known")
    if isinstance(facts.panes, Unknown):
        return unknown(facts.panes)
    if facts.launch_pane is None:
        return no(f"herdr lists no pane {facts.script.surface}")
    return YES


@condition("that pane is on its session file")
def pane_is_on_its_session(facts: Facts) -> Said:
    pane = facts.launch_pane
    if pane is None or facts.script is None:
        return unknown(facts.no_pane)
    if pane.session is None:
        return unknown("herdr names no session for it")
    if pane.session != facts.script.session_file:
        return no("it is on another session")
    if len(facts.own_panes) > 1:
        return unknown("another pane is on its session file too")
    return YES


@condition("herdr says an idle pi is in it")
def pane_is_an_idle_pi(facts: Facts) -> Said:
    pane = facts.launch_pane
    if pane is None:
        return unknown(facts.no_pane)
    if pane.agent != "pi":
        return no(f"herdr says {pane.agent or 'no agent'} runs there")
    if pane.status not in IDLE_STATUSES:
        return no(f"herdr says {pane.status}")
    return YES


@condition("a restore happened")
def restore_happened(facts: Facts) -> Said:
    """A restored pane has a new terminal under the same pane id."""
    pane = facts.launch_pane
    if pane is None:
        return unknown(facts.no_pane)
    if pane.terminal is None:
        return unknown("herdr reports no terminal id")
    if facts.keys.terminal is None:
        return unknown("it was never seen running")
    if facts.keys.pane not in (None, pane.id):
        return unknown(f"it was seen running in another pane, {facts.keys.pane}")
    if pane.terminal in {facts.keys.terminal, facts.ran_in}:
        return no("same terminal: the run itself, or a person's pi")
    return YES


@condition("only a plain pi runs there")
def pane_is_plain(facts: Facts) -> Said:
    """One pi, and no process with a launch or resume script or unreadable argv."""
    if isinstance(facts.processes, Unknown):
        return unknown(facts.processes)
    if any(names_a_script(process) for process in facts.processes):
        return no("a launch or resume script runs there")
    if sum(map(is_pi, facts.processes)) != 1:
        return no("its foreground is not exactly one pi")
    if any(process.argv is None for process in facts.processes if not is_pi(process)):
        return unknown("the arguments of another process there cannot be read")
    return YES


@condition("its session file can be read")
def can_be_resumed(facts: Facts) -> Said:
    """Closing a pane is only right when something is left to resume; a worktree's pane stays."""
    return YES if facts.is_worktree else session_file_is_readable.judge(facts)


# Whatever fails here holds for the whole session start, or costs nothing to ask again.
BY_FILES: Conditions = (
    is_on,
    launcher_may,
    platform_can_prove,
    is_untracked,
    has_launch_script,
    is_unreported,
    was_not_resumed_since,
    is_not_persistent,
    has_not_been_acted_on,
    has_never_ended,
    has_something_left,
)
BY_PANES: Conditions = (
    panes_are_listed,
    launcher_is_alone,
    was_seen_running,
    pane_is_there,
    session_folder_is_there,
    pane_is_on_its_session,
    pane_is_an_idle_pi,
    restore_happened,
    is_a_new_stranding,
)
BY_PROCESSES: Conditions = (pane_is_plain,)
BY_WITNESSES: Conditions = (can_be_resumed, *WITNESSES)
CONDITIONS = BY_FILES + BY_PANES + BY_PROCESSES + BY_WITNESSES
# A run is noted as running (key `seen`) while it is tracked too; only the disk can rule that out beforehand.
TO_NOTE: Conditions = (
    is_on,
    launcher_may,
    platform_can_prove,
    has_launch_script,
    is_unreported,
    is_not_persistent,
    has_not_been_acted_on,
)
# What must still hold to go on with a run whose closing or continued key is written.
TO_GO_ON: Conditions = (
    is_on,
    launcher_may,
    is_untracked,
    has_launch_script,
    is_unreported,
    nobody_else_is_seen,
)
# Not misses: the world could not be asked.
NOT_COUNTED: Conditions = (panes_are_listed, launcher_is_alone, session_folder_is_there)
BY_ROSTER_ALONE: Conditions = (intercom_agrees, is_nowhere_else)


def is_miss(facts: Facts, obstacle: Verdict) -> bool:
    """A look at a pane that is none to recover. While the broker cannot be asked, nobody knows whether it is one."""
    if first_obstacle(facts, BY_FILES) is not None or obstacle.is_of(NOT_COUNTED):
        return False
    return not (isinstance(facts.roster, Unknown) and obstacle.is_of(BY_ROSTER_ALONE))


def where_it_is_found(facts: Facts) -> str:
    """Another terminal starts the proof again. So does a witness who could be asked at only one of the two looks: nobody
    knows what it would have said at the other.
    """
    said = (("unread", facts.tail), ("unasked", facts.roster))
    silent = [which for which, one in said if isinstance(one, Unknown) and not one.absent]
    return " ".join([str(facts.launch_pane and facts.launch_pane.terminal), *silent])


def called(facts: Facts) -> str:
    """What a report calls this machine for this run."""
    return "worktree" if facts.is_worktree else "restored"


def terminal_is_gone(facts: Facts, closed: object) -> bool:
    """No pane is on the session file or in that terminal, and the pane's id is unused or was given to another one.

    A pane that is moved gets another id and keeps its terminal, whether or not herdr still names its session.
    """
    if isinstance(facts.panes, Unknown) or facts.own_panes:
        return False
    if closed is not None and any(pane.terminal == closed for pane in facts.panes):
        return False
    pane = facts.launch_pane
    return pane is None or None not in (pane.terminal, closed)
