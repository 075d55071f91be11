"""What is done about a stalled or dead agent: journalled first, bounded, never on a guess.

Source: docs/wakeup.md#what-is-done-about-a-stall.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

from sqlalchemy import Connection

from strawboss.heartbeat.record import Beat
from strawboss.system.json_files import write_json
from strawboss.system.process_identity import Liveness, liveness
from strawboss.wakeup import selection
from strawboss.wakeup.abandoned import close, tasks_of
from strawboss.wakeup.agents import Agent
from strawboss.wakeup.cycle import Rhythm
from strawboss.wakeup.health import Health
from strawboss.wakeup.inspection import Inspection, check_all
from strawboss.wakeup.keep_alive import record_file
from strawboss.wakeup.launch import LaunchError, launch
from strawboss.wakeup.processes import end_at_once, end_tree
from strawboss.wakeup.store import actions, checkout, events, inbox
from strawboss.wakeup.store.cycles import Cycle
from strawboss.wakeup.store.database import Database
from strawboss.wakeup.store.errors import StoreError
from strawboss.wakeup.store.tasks import Task

MONITOR = "strawboss"


class OnStall(StrEnum):
    WARN = "warn"
    RESTART = "restart"
    REASSIGN = "reassign"
    KILL = "kill"


@dataclass(frozen=True, slots=True)
class Response:
    """What was done in the end, and the words for it after "Action:". `acted` is False for a warning."""

    action: OnStall
    words: str
    acted: bool = False


@dataclass(frozen=True, slots=True)
class Patient:
    """The agent in question, with everybody else and the means to help."""

    inspection: Inspection
    others: Sequence[Inspection]
    database: Database
    rhythm: Rhythm

    @property
    def name(self) -> str:
        return self.inspection.agent.name

    @property
    def is_lost(self) -> bool:
        """Its host is gone: nothing of it can be ended, what it held comes free with its locks."""
        return self.inspection.evidence.is_lost

    @property
    def cycle(self) -> Cycle:
        assert self.inspection.cycle is not None
        return self.inspection.cycle


class FailedError(Exception):
    """An action that was begun did not succeed; `str()` is one line."""


def respond(patient: Patient, wanted: OnStall) -> Response:
    """Do what is wanted, or less, and say so. Raises StoreError: without the journal nothing is done."""
    if wanted is OnStall.WARN:
        return warn(patient, "warn")
    if _has_recovered(patient):
        return Response(OnStall.WARN, "none: it has recovered")
    if obstacle := _obstacle(patient, wanted):
        return warn(patient, f"warn ({wanted} refused: {obstacle})")
    complaint = _claim(patient, wanted)
    if complaint is not None:
        return complaint
    try:
        act = _give_up if patient.is_lost and wanted is not OnStall.REASSIGN else ACTIONS[wanted]
        words = f"{wanted} ({act(patient)})"
    except (FailedError, LaunchError) as error:
        words = f"{wanted} failed: {error}"
    with patient.database.write() as connection:
        actions.conclude(connection, patient.cycle.id, words)
        _note(patient, connection, f"{wanted}: ended", words)
    return Response(wanted, words, acted=True)


def _has_recovered(patient: Patient) -> bool:
    # Other agents may have been seen to since the look; what it showed need not be so any more.
    again = check_all([patient.inspection.agent], patient.database, patient.rhythm.timeout)[0]
    return not again.needs_attention or again.cycle != patient.inspection.cycle


def _obstacle(patient: Patient, wanted: OnStall) -> str:
    inspection = patient.inspection
    if inspection.cycle is None:
        return f"which process is {patient.name}'s is not certain"
    if patient.is_lost:
        if inspection.evidence.locked:
            return f"its host is gone, and its lock on {inspection.evidence.task} has to run out first"
    elif inspection.evidence.process is Liveness.UNKNOWN:
        return f"its process is out of sight on {inspection.cycle.host}; the monitor there has to do it"
    elif not inspection.finding.certain:
        return f"which process is {patient.name}'s is not certain"
    if wanted is OnStall.REASSIGN and (orphan := _unplaceable(patient)):
        return f"no other capable agent for {orphan}"
    return ""


def _claim(patient: Patient, wanted: OnStall) -> Response | None:
    """The journal entry before the act. A Response: why there will be none."""
    now = patient.database.now()
    with patient.database.write() as connection:
        if actions.recent(connection, patient.name, now) >= actions.MOST_ACTIONS:
            limit = f"{actions.MOST_ACTIONS} actions in the last hour"
            _alert(patient, connection, f"{wanted} refused: {limit}")
            return Response(OnStall.WARN, f"warn ({wanted} refused: {limit})")
        if not actions.claim(connection, patient.cycle.id, patient.name, wanted, now):
            return Response(OnStall.WARN, f"{wanted} (another monitor does it)")
        _note(patient, connection, f"{wanted}: began", patient.inspection.finding.why)
    return None


def warn(patient: Patient, words: str) -> Response:
    """An alert, with one entry in the history for each incident. Raises StoreError."""
    with patient.database.write() as connection:
        _alert(patient, connection, words)
    return Response(OnStall.WARN, words)


def _alert(patient: Patient, connection: Connection, words: str) -> None:
    """One history entry for each incident, not one for each look at it."""
    inspection = patient.inspection
    occasion = inspection.cycle.id if inspection.cycle else str(inspection.beat.at if inspection.beat else "")
    incident = f"alert:{patient.name}:{inspection.finding.health}:{occasion}:{words}"
    if actions.claim(connection, incident, patient.name, OnStall.WARN, patient.database.now()):
        actions.conclude(connection, incident, words)
        _note(
            patient, connection, f"alert: {inspection.finding.health}", f"{inspection.finding.why}; {words}"
        )


def _note(patient: Patient, connection: Connection, event: str, detail: str) -> None:
    inspection = patient.inspection
    about = {"cycle": inspection.cycle.id if inspection.cycle else None, "task": inspection.evidence.task}
    events.record(connection, patient.name, event, detail, patient.database.now(), **about)


def _restart(patient: Patient) -> str:
    _end(patient, "restarted")
    pid = launch(patient.name, replace(patient.rhythm, every=patient.cycle.every), patient.database)
    return f"now pid {pid}"


def _kill(patient: Patient) -> str:
    released = _end(patient, "killed")
    return f"ended; gave back {_named(released)}"


def _give_up(patient: Patient) -> str:
    return f"its host is gone; gave back {_named(_end(patient, 'host gone'))}"


def _reassign(patient: Patient) -> str:
    _end_processes(patient)
    with patient.database.write() as connection:
        moved = [(task, _successor(patient, task)) for task in tasks_of(connection, patient.cycle)]
        for task, agent in moved:
            if agent and checkout.reassign(connection, task.id, task.lock_token or "", agent.name):
                words = f"{patient.name} is {patient.inspection.finding.health}; now yours: {task.title}"
                inbox.send(connection, agent.name, MONITOR, words, patient.database.now(), task.id)
        close(connection, patient.cycle, "reassigned", patient.database.now())
    _write_last_record(patient)
    return (
        ", ".join(f"{task.id} to {agent.name}{_woken(patient, agent)}" for task, agent in moved if agent)
        or "held nothing"
    )


ACTIONS: dict[OnStall, Callable[[Patient], str]] = {
    OnStall.RESTART: _restart,
    OnStall.REASSIGN: _reassign,
    OnStall.KILL: _kill,
}


def _end(patient: Patient, outcome: str) -> list[Task]:
    _end_processes(patient)
    with patient.database.write() as connection:
        released = close(connection, patient.cycle, outcome, patient.database.now())
    _write_last_record(patient)
    return released


def _end_processes(patient: Patient) -> None:
    if patient.is_lost:
        return
    cycle = patient.cycle
    roots = [cycle.process, *([cycle.command] if cycle.command else [])]
    if any(liveness(root) is Liveness.UNKNOWN for root in roots):
        raise FailedError(f"a process of {patient.name} cannot be seen from here; nothing was ended")
    # The wake-up first and at once: it must neither take the end of its command for the end of the task nor go on. One
    # that cannot be ended keeps its command.
    if not end_at_once(cycle.process):
        raise FailedError(
            f"the wake-up of {patient.name} (pid {cycle.process.pid}) cannot be ended; nothing was"
        )
    if not end_tree(roots, cycle.id):
        raise FailedError(f"a process of {patient.name} (pid {cycle.process.pid}) is still alive")


def _write_last_record(patient: Patient) -> None:
    # Its writer is gone for good and cannot say so; without this every other monitor goes on calling it stale. One on
    # another host has its record there.
    if patient.is_lost:
        return
    agent, words = patient.inspection.agent, f"{patient.inspection.finding.health}: ended by the monitor"
    beat = Beat(agent.slug, MONITOR, "terminal", words, "STALL", extra={"cycle": patient.cycle.id})
    with suppress(OSError):
        write_json(record_file(agent), beat.content(datetime.now(UTC)))


def _unplaceable(patient: Patient) -> str:
    with patient.database.read() as connection:
        held = tasks_of(connection, patient.cycle)
    return ", ".join(task.id for task in held if _successor(patient, task) is None)


def _successor(patient: Patient, task: Task) -> Agent | None:
    """The best other agent that is well, capable and has budget left; an idle one before a busy one."""
    able = [
        inspection
        for inspection in patient.others
        if _can_take(inspection, task) and inspection.agent.name != patient.name
    ]
    return max(able, key=lambda inspection: _fitness(inspection, task)).agent if able else None


def _can_take(inspection: Inspection, task: Task) -> bool:
    agent = inspection.agent
    affordable = agent.budget is None or inspection.used < agent.budget
    return not inspection.needs_attention and affordable and task.capabilities <= set(agent.levels)


def _fitness(inspection: Inspection, task: Task) -> tuple[bool, float]:
    agent = inspection.agent
    remaining = None if agent.budget is None else agent.budget - inspection.used
    return inspection.finding.health is Health.IDLE, selection.score(
        task, agent.levels, remaining, now=0.0
    ).total


def _woken(patient: Patient, agent: Agent) -> str:
    """Wake the new owner when nothing runs it; otherwise its own cycle finds the task."""
    if any(other.agent is agent and other.cycle for other in patient.others):
        return ""
    try:
        return f", woken as pid {launch(agent.name, patient.rhythm, patient.database)}"
    except (LaunchError, StoreError) as error:
        return f", not woken: {error}"


def _named(released: Sequence[Task]) -> str:
    return ", ".join(task.id for task in released) or "nothing"
