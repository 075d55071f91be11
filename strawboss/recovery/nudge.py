"""Ask a finished child for its report, once (spec/1, first part)."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from strawboss.recovery.facts import (
    IDLE_STATUSES,
    Facts,
    has_launch_script,
    has_not_been_acted_on,
    is_idle,
    is_not_persistent,
    is_unreported,
    is_untracked,
    launcher_is_alone,
    panes_are_listed,
    runs_its_script,
)
from strawboss.recovery.keys import RunKeys
from strawboss.recovery.verdict import Unknown, Verdict, no, unknown, yes

MISSES = 4  # looks without pane, script or intercom session, until the next session start


class State(Enum):
    WATCHING = "watching"
    FOUND_ONCE = "found once"
    FOUND_TWICE = "found twice"
    NUDGED = "nudged"
    SENT = "sent"
    SEND_FAILED = "send failed"
    GIVEN_UP = "given up"


class Event(Enum):
    FOUND = "stranded"
    FOUND_AGAIN = "stranded at the next look too"
    NOT_FOUND = "not stranded"
    LAST_MISS = "fourth look without pane, script or session"
    KEY_WRITTEN = "key nudged durable"
    KEY_MISSING = "key not confirmed"
    ACCEPTED = "message accepted"
    REFUSED = "message failed or outcome unknown"


# spec/1 in one place. FOUND in FOUND_ONCE: too soon after the first look, or another thing was found.
TRANSITIONS = {
    (State.WATCHING, Event.NOT_FOUND): State.WATCHING,
    (State.WATCHING, Event.FOUND): State.FOUND_ONCE,
    (State.WATCHING, Event.LAST_MISS): State.GIVEN_UP,
    (State.FOUND_ONCE, Event.FOUND): State.FOUND_ONCE,
    (State.FOUND_ONCE, Event.FOUND_AGAIN): State.FOUND_TWICE,
    (State.FOUND_ONCE, Event.NOT_FOUND): State.WATCHING,
    (State.FOUND_ONCE, Event.LAST_MISS): State.GIVEN_UP,
    (State.FOUND_TWICE, Event.KEY_MISSING): State.FOUND_ONCE,
    (State.FOUND_TWICE, Event.KEY_WRITTEN): State.NUDGED,
    (State.NUDGED, Event.ACCEPTED): State.SENT,
    (State.NUDGED, Event.REFUSED): State.SEND_FAILED,
}
FINAL = frozenset({State.NUDGED, State.SENT, State.SEND_FAILED, State.GIVEN_UP})


def state_of(keys: RunKeys, watched: State) -> State:
    """Where the machine stands when the keys are read: a `nudged` key outlives every process."""
    return State.NUDGED if keys.nudged and watched not in FINAL else watched


def is_on(facts: Facts) -> Verdict:
    condition = "the nudge is switched on"
    return yes(condition) if facts.settings.nudge else no(condition, "nudge: off in the config")


def has_no_closing(facts: Facts) -> Verdict:
    condition = "its pane is not being closed"
    return no(condition, "its closing key is written") if facts.keys.closing else yes(condition)


def has_finished(facts: Facts) -> Verdict:
    """spec/1: "It has finished": it ended its turn and waits. `input` may follow without a change of phase."""
    condition = "it has finished"
    activity = facts.activity
    if isinstance(activity, Unknown):
        return unknown(condition, activity)
    if activity.phase != "waiting":
        says = "it is working: its" if activity.phase == "active" else "its"
        return no(condition, f"{says} activity says {activity.phase}")
    if activity.latest_event != "agent_end":
        return no(condition, f"something came after its turn ended: {activity.latest_event}")
    return yes(condition)


def launcher_is_reachable(facts: Facts) -> Verdict:
    """Without the launcher in the roster nobody could receive the report (DESIGN section 8)."""
    condition = "the launcher is on pi-intercom"
    if isinstance(facts.roster, Unknown):
        return unknown(condition, facts.roster)
    launcher = facts.launcher
    if any(peer.id == launcher.id or peer.pid == launcher.pid for peer in facts.roster):
        return yes(condition)
    return unknown(condition, "its session is not in the roster")


def has_a_pane(facts: Facts) -> Verdict:
    condition = "its pane is found"
    if len(facts.own_panes) > 1:
        ids = ", ".join(sorted(pane.id for pane in facts.own_panes))
        return unknown(condition, f"panes {ids} are all on its session file")
    return yes(condition) if facts.pane else no(condition, "no pane is on its session file")


def pane_is_idle(facts: Facts) -> Verdict:
    """spec/1: its pane runs pi, and herdr says done or idle."""
    condition = "herdr says its pi is idle"
    if facts.pane is None:
        return unknown(condition, "its pane is not known")
    if facts.pane.agent != "pi":
        return no(condition, f"herdr says {facts.pane.agent or 'no agent'} runs there")
    if facts.pane.status not in IDLE_STATUSES:
        return no(condition, f"herdr says {facts.pane.status}")
    return yes(condition)


def was_not_handed_over(facts: Facts) -> Verdict:
    """A live handoff gives a pane a new terminal, and its statuses are wrong for seconds: that look proves nothing (R20)."""
    condition = "its terminal is the one noted"
    return no(condition, "herdr has just given it a new one") if facts.handed_over else yes(condition)


def has_a_session(facts: Facts) -> Verdict:
    condition = "pi-intercom has a session in its pane"
    if isinstance(facts.roster, Unknown):
        return unknown(condition, facts.roster)
    return yes(condition) if facts.peer else no(condition, "no single session of the roster is in its pane")


def session_is_idle(facts: Facts) -> Verdict:
    condition = "pi-intercom says that session is idle"
    if facts.peer is None:
        return unknown(condition, "its session is not known")
    return yes(condition) if is_idle(facts.peer.status) else no(condition, f"it says {facts.peer.status}")


Condition = Callable[[Facts], Verdict]
# In order of cost: what the disk and the keys say, the roster, the pane list, the pane's processes.
BY_FILES: tuple[Condition, ...] = (
    is_on,
    is_untracked,
    has_launch_script,
    is_unreported,
    is_not_persistent,
    has_not_been_acted_on,
    has_no_closing,
    has_finished,
)
BY_ROSTER: tuple[Condition, ...] = (launcher_is_reachable,)
BY_PANES: tuple[Condition, ...] = (panes_are_listed, launcher_is_alone, has_a_pane, pane_is_idle)
BY_PROCESSES: tuple[Condition, ...] = (
    runs_its_script,
    was_not_handed_over,
    has_a_session,
    session_is_idle,
)
CONDITIONS = BY_FILES + BY_ROSTER + BY_PANES + BY_PROCESSES

# Obstacles that count towards giving up (spec/1, "given up on after four looks"); a busy or unreachable world does not.
COUNTED = frozenset(
    {"its pane is found", "its pane runs its launch script", "pi-intercom has a session in its pane"}
)
