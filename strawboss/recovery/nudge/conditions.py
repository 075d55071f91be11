"""When a child has finished and nobody was told: the conditions, in order of cost."""

from __future__ import annotations

from strawboss.recovery.conditions import (
    has_a_session,
    has_launch_script,
    has_not_been_acted_on,
    is_a_new_stranding,
    is_not_persistent,
    is_unreported,
    is_untracked,
    launcher_is_alone,
    launcher_is_reachable,
    panes_are_listed,
    runs_its_script,
    session_is_idle,
    was_not_resumed_since,
)
from strawboss.recovery.facts import IDLE_STATUSES, Facts
from strawboss.recovery.machine import Conditions
from strawboss.recovery.verdict import YES, Said, Unknown, Verdict, condition, no, unknown
from strawboss.recovery.witnesses import WITNESSES, session_file_is_readable


@condition("the nudge is switched on")
def is_on(facts: Facts) -> Said:
    return YES if facts.settings.nudge else no("nudge: off in the config")


@condition("its pane is not being closed")
def has_no_closing(facts: Facts) -> Said:
    return no("its closing key is written") if facts.keys.closing else YES


@condition("it has finished")
def has_finished(facts: Facts) -> Said:
    """It ended its turn and waits. `input` may follow without a change of phase."""
    activity = facts.activity
    if isinstance(activity, Unknown):
        return unknown(activity)
    if activity.phase != "waiting":
        says = "it is working: its" if activity.phase == "active" else "its"
        return no(f"{says} activity says {activity.phase}")
    if activity.latest_event != "agent_end":
        return no(f"something came after its turn ended: {activity.latest_event}")
    return YES


@condition("its pane is found")
def has_a_pane(facts: Facts) -> Said:
    if isinstance(facts.panes, Unknown):
        return unknown(facts.panes)
    if len(facts.own_panes) > 1:
        ids = ", ".join(sorted(pane.id for pane in facts.own_panes))
        return unknown(f"panes {ids} are all on its session file")
    return YES if facts.pane else no("no pane is on its session file")


@condition("herdr says its pi is idle")
def pane_is_idle(facts: Facts) -> Said:
    """Its pane runs pi, and herdr says done or idle."""
    if facts.pane is None:
        return unknown(facts.no_pane)
    if facts.pane.agent != "pi":
        return no(f"herdr says {facts.pane.agent or 'no agent'} runs there")
    if facts.pane.status not in IDLE_STATUSES:
        return no(f"herdr says {facts.pane.status}")
    return YES


@condition("its terminal is the one noted")
def was_not_handed_over(facts: Facts) -> Said:
    """A live handoff gives a pane a new terminal, and its statuses are wrong for seconds: that look proves nothing (R20)."""
    if isinstance(facts.panes, Unknown):
        return unknown(facts.panes)
    return no("herdr has just given it a new one") if facts.handed_over else YES


BY_FILES: Conditions = (
    is_on,
    is_untracked,
    has_launch_script,
    is_unreported,
    was_not_resumed_since,
    is_not_persistent,
    has_not_been_acted_on,
    has_no_closing,
    has_finished,
)
BY_ROSTER: Conditions = (launcher_is_reachable,)
BY_PANES: Conditions = (panes_are_listed, launcher_is_alone, has_a_pane, pane_is_idle, is_a_new_stranding)
BY_PROCESSES: Conditions = (
    runs_its_script,
    was_not_handed_over,
    has_a_session,
    session_is_idle,
)
BY_WITNESSES: Conditions = (session_file_is_readable, *WITNESSES)
CONDITIONS = BY_FILES + BY_ROSTER + BY_PANES + BY_PROCESSES + BY_WITNESSES

# What these say counts as a miss, a busy or unreachable world does not.
COUNTED: Conditions = (has_a_pane, runs_its_script, has_a_session)


def is_miss(facts: Facts, obstacle: Verdict) -> bool:
    return obstacle.is_of(COUNTED) and not isinstance(facts.panes, Unknown)


def who_is_found(facts: Facts) -> str:
    """Whom the nudge would reach: another terminal, session or registration starts the proof again (R43)."""
    assert facts.pane is not None
    assert facts.peer is not None
    return f"{facts.pane.terminal} {facts.peer.id} {facts.peer.epoch}"
