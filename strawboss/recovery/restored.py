"""Find a run that a herdr restore brought back as a plain pi (spec/1, second part)."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from strawboss.recovery.evidence import Pane, Tail
from strawboss.recovery.facts import (
    ALONE,
    IDLE_STATUSES,
    LISTED,
    Facts,
    has_launch_script,
    has_not_been_acted_on,
    is_not_persistent,
    is_pi,
    is_unreported,
    is_untracked,
    launcher_is_alone,
    names_a_script,
    nobody_else_is_seen,
    panes_are_listed,
)
from strawboss.recovery.keys import RunKeys
from strawboss.recovery.verdict import Unknown, Verdict, no, unknown, yes

MISSES = 8  # looks without a restored pane, until the next session start
REACH_LOOKS = 4  # looks for a worktree child to become reachable over intercom
PUTS = 3  # the first, and twice again when the session dropped it
GONE_SECONDS = 5.0

ON_ITS_SESSION = "that pane is on its session file"
NOTHING_LEFT = frozenset({"removed", "cancelled"})


class State(Enum):
    WATCHING = "watching"
    FOUND_ONCE = "found once"
    FOUND_TWICE = "found twice"
    CLOSING = "closing"
    CONTINUED = "continued"
    TO_TELL = "pane settled, launcher to be told"
    TOLD = "message put"
    FAILED = "a step failed"
    RESUMED = "resumed"
    GAVE_UP = "gave up"
    GIVEN_UP = "given up"


class Event(Enum):
    FOUND = "restored plain"
    FOUND_AGAIN = "restored plain at the next look too"
    NOT_FOUND = "not restored"
    LAST_MISS = "eighth look without a restored pane"
    CLOSING_WRITTEN = "key closing durable"
    CONTINUED_WRITTEN = "key continued durable"
    KEY_MISSING = "key not confirmed"
    NOT_REACHABLE = "worktree child not reachable yet"
    NOT_TOLD = "worktree child not to be told"
    CHANGED = "pane changed or still open, key unclosed"
    UNSEEN = "cannot be seen whether the pane is gone"
    PANE_GONE = "pane gone"
    STEP_FAILED = "a step failed"
    GAVE_UP_WRITTEN = "key gaveUp durable"
    SENT = "worktree child told, or the attempt was made"
    PUT = "message accepted by the session"
    NOT_NOW = "session is compacting or cannot be asked"
    DROPPED = "message dropped by the session"
    TAKEN = "message seen in the session, key resumed"


# spec/1 in one place. A managed-worktree run takes the road over CONTINUED, or straight to TO_TELL; never over CLOSING.
TRANSITIONS = {
    (State.WATCHING, Event.NOT_FOUND): State.WATCHING,
    (State.WATCHING, Event.FOUND): State.FOUND_ONCE,
    (State.WATCHING, Event.LAST_MISS): State.GIVEN_UP,
    (State.WATCHING, Event.TAKEN): State.RESUMED,
    (State.FOUND_ONCE, Event.FOUND): State.FOUND_ONCE,
    (State.FOUND_ONCE, Event.FOUND_AGAIN): State.FOUND_TWICE,
    (State.FOUND_ONCE, Event.NOT_FOUND): State.WATCHING,
    (State.FOUND_ONCE, Event.LAST_MISS): State.GIVEN_UP,
    (State.FOUND_ONCE, Event.TAKEN): State.RESUMED,
    (State.FOUND_TWICE, Event.NOT_FOUND): State.WATCHING,
    (State.FOUND_TWICE, Event.LAST_MISS): State.GIVEN_UP,
    (State.FOUND_TWICE, Event.KEY_MISSING): State.FOUND_ONCE,
    (State.FOUND_TWICE, Event.CLOSING_WRITTEN): State.CLOSING,
    (State.FOUND_TWICE, Event.NOT_REACHABLE): State.FOUND_ONCE,
    (State.FOUND_TWICE, Event.CONTINUED_WRITTEN): State.CONTINUED,
    (State.FOUND_TWICE, Event.NOT_TOLD): State.TO_TELL,
    (State.CLOSING, Event.CHANGED): State.WATCHING,
    (State.CLOSING, Event.UNSEEN): State.CLOSING,
    (State.CLOSING, Event.PANE_GONE): State.TO_TELL,
    (State.CLOSING, Event.STEP_FAILED): State.FAILED,
    (State.CLOSING, Event.TAKEN): State.RESUMED,
    (State.CONTINUED, Event.SENT): State.TO_TELL,
    (State.CONTINUED, Event.TAKEN): State.RESUMED,
    (State.TO_TELL, Event.NOT_NOW): State.TO_TELL,
    (State.TO_TELL, Event.PUT): State.TOLD,
    (State.TO_TELL, Event.STEP_FAILED): State.FAILED,
    (State.TO_TELL, Event.TAKEN): State.RESUMED,
    (State.TOLD, Event.NOT_NOW): State.TOLD,
    (State.TOLD, Event.DROPPED): State.TO_TELL,
    (State.TOLD, Event.STEP_FAILED): State.FAILED,
    (State.TOLD, Event.TAKEN): State.RESUMED,
    (State.FAILED, Event.GAVE_UP_WRITTEN): State.GAVE_UP,
    (State.FAILED, Event.TAKEN): State.RESUMED,
    (State.GIVEN_UP, Event.KEY_MISSING): State.WATCHING,
    (State.GIVEN_UP, Event.TAKEN): State.RESUMED,
}
FINAL = frozenset({State.RESUMED, State.GAVE_UP, State.GIVEN_UP})
UNDER_WAY = frozenset({State.CLOSING, State.CONTINUED, State.TO_TELL, State.TOLD, State.FAILED})


def state_of(keys: RunKeys, watched: State) -> State:
    """Where the machine stands when the keys are read: what is durable outlives the process that wrote it."""
    if keys.resumed:
        return State.RESUMED
    if keys.gave_up is not None:
        return State.GAVE_UP
    if watched is State.CLOSING and keys.closing is None:
        return State.WATCHING  # `unclosed` is in the file, whatever the reply to it was
    if watched in UNDER_WAY or watched in FINAL:
        return watched
    if keys.closing is not None:
        return State.CLOSING
    return State.CONTINUED if keys.continued else watched


def is_on(facts: Facts) -> Verdict:
    condition = "the restored case is switched on"
    return yes(condition) if facts.settings.restored else no(condition, "restored: off in the config")


def launcher_may(facts: Facts) -> Verdict:
    """spec/1: a tower does none of this, nor does a session that is a restored subagent itself."""
    condition = "the launcher is neither a tower nor a subagent"
    if facts.launcher.tower:
        return no(condition, "it is a tower")
    if facts.launcher.nested:
        return no(condition, "a policy sidecar lies beside its session file: it is a subagent")
    return yes(condition)


def platform_can_prove(facts: Facts) -> Verdict:
    """spec/1: on Windows the process list cannot prove the absence of the script."""
    condition = "the process list can prove a plain pi"
    if facts.launcher.platform == "win32":
        return unknown(condition, "on Windows herdr lists one process only")
    return yes(condition)


def has_never_ended(facts: Facts) -> Verdict:
    """spec/1: "It never ended": no `<session>.exit` beside its session file."""
    condition = "it never ended"
    if isinstance(facts.files.ended, Unknown):
        return unknown(condition, facts.files.ended)
    return no(condition, "ended: its exit sidecar is there") if facts.files.ended else yes(condition)


def has_something_left(facts: Facts) -> Verdict:
    """A worktree that was removed or cancelled has nothing to continue; one whose manifest is damaged is unknown."""
    condition = "its worktree still stands"
    worktree = facts.files.worktree
    if isinstance(worktree, Unknown):
        return unknown(condition, worktree)
    if worktree is not None and worktree.state in NOTHING_LEFT:
        return no(condition, f"its manifest says {worktree.state}")
    return yes(condition)


def was_seen_running(facts: Facts) -> Verdict:
    """spec/1: a run never seen running is unknown, and unknown is never closed."""
    condition = "it was seen running its launch script"
    return yes(condition) if facts.keys.terminal else unknown(condition, "it was never seen running")


def restored_pane(facts: Facts) -> Pane | None:
    """The pane the run was started in: a restore keeps pane ids."""
    if facts.script is None or isinstance(facts.panes, Unknown):
        return None
    return next((pane for pane in facts.panes if pane.id == facts.script.surface), None)


def pane_is_there(facts: Facts) -> Verdict:
    condition = "the pane it ran in is there"
    if facts.script is None:
        return unknown(condition, "its launch script is not known")
    if restored_pane(facts) is None:
        return no(condition, f"herdr lists no pane {facts.script.surface}")
    return yes(condition)


def pane_is_on_its_session(facts: Facts) -> Verdict:
    condition = ON_ITS_SESSION
    pane = restored_pane(facts)
    if pane is None or facts.script is None:
        return unknown(condition, "the pane is not known")
    if pane.session is None:
        return unknown(condition, "herdr names no session for it")
    if pane.session != facts.script.session_file:
        return no(condition, "it is on another session")
    if len(facts.own_panes) > 1:
        return unknown(condition, "another pane is on its session file too")
    return yes(condition)


def pane_is_an_idle_pi(facts: Facts) -> Verdict:
    condition = "herdr says an idle pi is in it"
    pane = restored_pane(facts)
    if pane is None:
        return unknown(condition, "the pane is not known")
    if pane.agent != "pi":
        return no(condition, f"herdr says {pane.agent or 'no agent'} runs there")
    if pane.status not in IDLE_STATUSES:
        return no(condition, f"herdr says {pane.status}")
    return yes(condition)


def restore_happened(facts: Facts) -> Verdict:
    """spec/1: "A restore happened": a restored pane has a new terminal under the same pane id."""
    condition = "a restore happened"
    pane = restored_pane(facts)
    if pane is None or pane.terminal is None:
        return unknown(condition, "herdr reports no terminal id")
    if facts.keys.terminal is None:
        return unknown(condition, "it was never seen running")
    if facts.keys.pane not in (None, pane.id):
        return unknown(condition, f"it was seen running in another pane, {facts.keys.pane}")
    if pane.terminal in {facts.keys.terminal, facts.ran_in}:
        return no(condition, "same terminal: the run itself, or a person's pi")
    return yes(condition)


def pane_is_plain(facts: Facts) -> Verdict:
    """spec/1: "Nothing else runs there": one pi, and no process with a launch or resume script or unreadable argv."""
    condition = "only a plain pi runs there"
    if isinstance(facts.processes, Unknown):
        return unknown(condition, facts.processes)
    if any(names_a_script(process) for process in facts.processes):
        return no(condition, "a launch or resume script runs there")
    if sum(map(is_pi, facts.processes)) != 1:
        return no(condition, "its foreground is not exactly one pi")
    if any(process.argv is None for process in facts.processes if not is_pi(process)):
        return unknown(condition, "the arguments of another process there cannot be read")
    return yes(condition)


def is_worktree(facts: Facts) -> bool:
    """A manifest, a policy owner other than `public`, or the launch's own record: any one is enough."""
    policy = facts.files.policy
    return (
        facts.files.worktree is not None
        or (policy is not None and not isinstance(policy, Unknown) and policy.owner != "public")
        or facts.run in facts.transcript.worktrees
    )


def kind(facts: Facts) -> str:
    """What a report calls this machine for this run."""
    return "worktree" if is_worktree(facts) else "restored"


Condition = Callable[[Facts], Verdict]
# Whatever fails here holds for the whole session start, or costs nothing to ask again.
BY_FILES: tuple[Condition, ...] = (
    is_on,
    launcher_may,
    platform_can_prove,
    is_untracked,
    has_launch_script,
    is_unreported,
    is_not_persistent,
    has_not_been_acted_on,
    has_never_ended,
    has_something_left,
)
BY_PANES: tuple[Condition, ...] = (
    panes_are_listed,
    launcher_is_alone,
    was_seen_running,
    pane_is_there,
    pane_is_on_its_session,
    pane_is_an_idle_pi,
    restore_happened,
)
BY_PROCESSES: tuple[Condition, ...] = (pane_is_plain,)
CONDITIONS = BY_FILES + BY_PANES + BY_PROCESSES
# A run is noted as running (key `seen`) while it is tracked too; only the disk can rule that out beforehand.
NOTE_BY_FILES: tuple[Condition, ...] = (
    is_on,
    launcher_may,
    platform_can_prove,
    has_launch_script,
    is_unreported,
    is_not_persistent,
    has_not_been_acted_on,
)
# What must still hold to go on with a run whose closing or continued key is written.
TO_GO_ON: tuple[Condition, ...] = (
    is_on,
    launcher_may,
    is_untracked,
    has_launch_script,
    is_unreported,
    nobody_else_is_seen,
)

# Not misses: the world could not be asked.
NOT_COUNTED = frozenset({LISTED, ALONE})


def pane_is_gone(facts: Facts) -> bool:
    """After a close, by what its `closing` key says was closed."""
    closed = facts.keys.closing.data.get("terminal") if facts.keys.closing else None
    return terminal_is_gone(facts, closed)


def terminal_is_gone(facts: Facts, closed: object) -> bool:
    """No pane is on the session file or in that terminal, and the pane's id is unused or was given to another one.

    A pane that is moved gets another id and keeps its terminal, whether or not herdr still names its session.
    """
    if isinstance(facts.panes, Unknown) or facts.own_panes:
        return False
    if closed is not None and any(pane.terminal == closed for pane in facts.panes):
        return False
    pane = restored_pane(facts)
    return pane is None or None not in (pane.terminal, closed)


def is_not_contradicted(facts: Facts, tail: Tail | Unknown) -> Verdict:
    """A pane may show a session its pi has left (R06): if pi-intercom knows that pi, it must be on this session."""
    condition = "pi-intercom does not say otherwise"
    if isinstance(tail, Unknown) or facts.peer is None or facts.peer.id == tail.session_id:
        return yes(condition)
    return unknown(condition, "the pi in its pane is on another session")


def can_be_resumed(tail: Tail | Unknown) -> Verdict:
    """Closing a pane is only right when something is left to resume: a session file that can be read."""
    condition = "its session file can be read"
    return unknown(condition, tail) if isinstance(tail, Unknown) else yes(condition)


def nobody_is_there(facts: Facts, obstacle: Verdict) -> bool:
    """Whether that obstacle means: no pane to act on. A run that was seen running is then lost (DESIGN section 8)."""
    if obstacle.condition == pane_is_plain(facts).condition:
        return isinstance(facts.processes, Unknown)
    pane = restored_pane(facts)
    if facts.own_panes or obstacle.condition not in {pane_is_there(facts).condition, ON_ITS_SESSION}:
        return False
    return pane is None or pane.session is not None or pane.agent != "pi"
