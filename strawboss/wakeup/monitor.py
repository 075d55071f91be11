"""The watch over all agents: one look, or one look after another."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from strawboss.wakeup.agents import Registry
from strawboss.wakeup.cycle import Rhythm
from strawboss.wakeup.health import Health
from strawboss.wakeup.inspection import Inspection, check_all
from strawboss.wakeup.launch import LaunchError, launch
from strawboss.wakeup.responses import OnStall, Patient, Response, respond
from strawboss.wakeup.store.database import Database
from strawboss.wakeup.store.errors import StoreError

# Between two looks the wall clock may drift from the monotonic one by that much; more is a sleep or a set clock.
SLEEP_SECONDS = 30.0
RESUMED = "resumed from sleep, or a clock was set: silences count from now on"


@dataclass(frozen=True, slots=True)
class Clocks:
    """Both clocks at one moment, in seconds; the monotonic one stands still while the machine sleeps."""

    wall: float
    monotonic: float


@dataclass(frozen=True, slots=True)
class Vigil:
    """What a resident monitor remembers: its last look, and since when silences count."""

    last: Clocks | None = None
    awake_since: float = -math.inf

    @property
    def observes_only(self) -> bool:
        """The first look after the start: old records may be last night's."""
        return self.last is None


@dataclass(frozen=True, slots=True)
class MonitorLook:
    """One look at all agents. `responses` by agent name; `note` says what is special about this look."""

    inspections: tuple[Inspection, ...]
    responses: dict[str, Response]
    note: str = ""

    @property
    def is_well(self) -> bool:
        return not any(inspection.needs_attention for inspection in self.inspections)


def after(vigil: Vigil, clocks: Clocks) -> Vigil:
    """The vigil once this look is taken. A jump of one clock against the other: silences count from now on."""
    if vigil.last is None:
        return Vigil(clocks)
    jump = (clocks.wall - vigil.last.wall) - (clocks.monotonic - vigil.last.monotonic)
    return replace(
        vigil, last=clocks, awake_since=clocks.monotonic if abs(jump) > SLEEP_SECONDS else vigil.awake_since
    )


def look(
    registry: Registry,
    database: Database,
    rhythm: Rhythm,
    on_stall: OnStall,
    *,
    acts: bool = True,
    since: float = math.inf,
) -> MonitorLook:
    """Check every agent, and respond to the stalled and dead ones when it `acts`. Raises StoreError."""
    inspections = check_all(registry.agents, database, rhythm.timeout, since)
    responses = {}
    for inspection in inspections:
        if not inspection.needs_attention:
            continue
        if not acts:
            responses[inspection.agent.name] = Response(OnStall.WARN, "none at the first look")
            continue
        wanted = OnStall.WARN if inspection.finding.health is Health.UNKNOWN else on_stall
        responses[inspection.agent.name] = respond(Patient(inspection, inspections, database, rhythm), wanted)
    return MonitorLook(tuple(inspections), responses)


def watch(
    load: Callable[[], Registry], database: Database, rhythm: Rhythm, on_stall: OnStall, every: float
) -> Iterator[MonitorLook | StoreError]:
    """MonitorLook for ever, every so many seconds. The first look leads to no action, and a sleep counts as no silence.

    A store that cannot be used is what that look found; the next one tries again.
    """
    vigil = Vigil()
    while True:
        clocks = Clocks(time.time(), time.monotonic())
        first, vigil = vigil.observes_only, after(vigil, clocks)
        since = clocks.monotonic - vigil.awake_since
        try:
            found = look(load(), database, rhythm, on_stall, acts=not first, since=since)
            yield replace(found, note=RESUMED) if since == 0 else found
        except StoreError as error:
            yield error
        time.sleep(max(0.0, every - (time.monotonic() - clocks.monotonic)))


def wake(registry: Registry, database: Database, rhythm: Rhythm, name: str) -> tuple[bool, str]:
    """Force one agent awake. Whether all is well now, and what was done. Raises RegistryError, StoreError."""
    agent = registry.get(name)
    inspections = check_all(registry.agents, database, rhythm.timeout)
    inspection = next(one for one in inspections if one.agent is agent)
    return _woken(Patient(inspection, inspections, database, rhythm))


def _woken(patient: Patient) -> tuple[bool, str]:
    inspection, name = patient.inspection, patient.name
    if inspection.finding.health is Health.HEALTHY:
        return True, f"{name} is healthy: nothing to do"
    if inspection.finding.health is Health.UNKNOWN:
        return False, f"{name} is not woken: {inspection.finding.why}"
    if inspection.cycle is None and inspection.finding.health is Health.IDLE:
        return _started(patient)
    if inspection.finding.health is Health.IDLE:
        return True, f"{name} is awake and waits for work (pid {patient.cycle.process.pid}): nothing to do"
    response = respond(patient, OnStall.RESTART)
    well = response.acted and "failed" not in response.words
    return well, f"{name} was {inspection.finding.health}: {response.words}"


def _started(patient: Patient) -> tuple[bool, str]:
    try:
        return (
            True,
            f"{patient.name} was idle: started as pid {launch(patient.name, patient.rhythm, patient.database)}",
        )
    except LaunchError as error:
        return False, f"{patient.name} is not woken: {error}"
