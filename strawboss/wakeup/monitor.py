"""The watch over all agents: one look, or one look after another."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from strawboss.heartbeat.clocks import Clocks, slept_between
from strawboss.wakeup.abandoned import host, own_place
from strawboss.wakeup.agents import Registry, RegistryError
from strawboss.wakeup.cycle import Rhythm
from strawboss.wakeup.health import Health
from strawboss.wakeup.inspection import Inspection, check_all
from strawboss.wakeup.launch import LaunchError, launch
from strawboss.wakeup.responses import MONITOR, OnStall, Patient, Response, respond, warn
from strawboss.wakeup.store import events, hosts
from strawboss.wakeup.store.database import Database
from strawboss.wakeup.store.errors import StoreError

# A monitor holds the lease of its host for so many of its looks, at least.
LEASE_LOOKS = 3
RESUMED = "resumed from sleep, or a clock was set: silences count from now on"


# So many that fall silent together, and more than half of all who are awake, are more likely one fault of ours: a clock,
# a disk, a store. The next look tells.
SUSPECT_COUNT = 3


@dataclass(frozen=True, slots=True)
class Vigil:
    """What a resident monitor remembers: its last look, who was silent then, and since when silences count."""

    last: Clocks | None = None
    awake_since: float = -math.inf
    silent: frozenset[str] = frozenset()

    @property
    def observes_only(self) -> bool:
        """The first look after the start: old records may be last night's."""
        return self.last is None


@dataclass(frozen=True, slots=True)
class MonitorLook:
    """One look at all agents. `responses` by agent name; `note` says what is special about this look.

    `trouble` is what keeps this look from being the whole truth: then all is not well, whatever was found.
    """

    inspections: tuple[Inspection, ...]
    responses: dict[str, Response]
    note: str = ""
    trouble: str = ""

    @property
    def is_well(self) -> bool:
        return not self.trouble and not any(inspection.needs_attention for inspection in self.inspections)


def after(vigil: Vigil, clocks: Clocks) -> Vigil:
    """The vigil once this look is taken. A jump of one clock against the other: silences count from now on."""
    if vigil.last is None:
        return replace(vigil, last=clocks)
    jumped = slept_between(vigil.last, clocks) or slept_between(clocks, vigil.last)  # forward, or back
    return replace(vigil, last=clocks, awake_since=clocks.monotonic if jumped else vigil.awake_since)


def silent(inspections: Iterable[Inspection]) -> frozenset[str]:
    """Who is stalled or dead."""
    return frozenset(
        one.agent.name for one in inspections if one.finding.health in (Health.STALLED, Health.DEAD)
    )


def suspicion(inspections: Sequence[Inspection], before: frozenset[str]) -> str:
    """Why silences of this look are not to be acted on yet, given who was silent at the look before; or nothing."""
    fallen = len(silent(inspections) - before)
    awake = sum(one.cycle is not None for one in inspections)
    if fallen < SUSPECT_COUNT or 2 * fallen <= awake:
        return ""
    return f"{fallen} of {awake} fell silent within one look: the witness is suspect, the next look acts"


def look(
    registry: Registry,
    database: Database,
    rhythm: Rhythm,
    on_stall: OnStall,
    *,
    vigil: Vigil | None = None,
    since: float = math.inf,
) -> MonitorLook:
    """Check every agent, and respond to the stalled and dead ones. Raises StoreError.

    With a `vigil` it is one of many looks: the first leads to no action, and one that shows too much does not either.
    """
    inspections = check_all(registry.agents, database, rhythm.timeout, since)
    doubt = suspicion(inspections, vigil.silent) if vigil and not vigil.observes_only else ""
    responses = {}
    for inspection in inspections:
        if not inspection.needs_attention:
            continue
        patient = Patient(inspection, inspections, database, rhythm)
        if vigil and vigil.observes_only:
            responses[inspection.agent.name] = Response(OnStall.WARN, "none at the first look")
        elif doubt:
            responses[inspection.agent.name] = warn(patient, f"warn ({doubt})")
        else:
            wanted = OnStall.WARN if inspection.finding.health is Health.UNKNOWN else on_stall
            responses[inspection.agent.name] = respond(patient, wanted)
    return MonitorLook(tuple(inspections), responses)


def watch(
    load: Callable[[], Registry], database: Database, rhythm: Rhythm, on_stall: OnStall, every: float
) -> Iterator[MonitorLook | StoreError | RegistryError]:
    """Look for ever, every so many seconds. The first look leads to no action, and a sleep counts as no silence.

    A store that cannot be used is what that look found; the next one tries again. A registry that cannot be used is
    said once; the last good one serves until it can.
    """
    vigil, roster = Vigil(), Roster(load)
    while True:
        clocks = Clocks(time.time(), time.monotonic())
        before, vigil = vigil, after(vigil, clocks)
        since = clocks.monotonic - vigil.awake_since
        try:
            news = roster.refresh(database)
            _renew_lease(database, rhythm, every)
            found = look(roster.registry, database, rhythm, on_stall, vigil=before, since=since)
            vigil = replace(vigil, silent=silent(found.inspections))
            yield replace(found, note=RESUMED if since == 0 else news, trouble=roster.trouble)
        except (StoreError, RegistryError) as error:
            vigil = replace(
                vigil, last=before.last and clocks
            )  # a look that saw nothing is not the first one
            yield error
        time.sleep(max(0.0, every - (time.monotonic() - clocks.monotonic)))


def _renew_lease(database: Database, rhythm: Rhythm, every: float) -> None:
    until = database.now() + max(rhythm.timeout, LEASE_LOOKS * every)
    with database.write() as connection:
        hosts.renew(connection, own_place(), host(), until)


class Roster:
    """The agent registry of a resident monitor: the last one that could be read."""

    def __init__(self, load: Callable[[], Registry]) -> None:
        self._load = load
        self._last: Registry | None = None
        self.trouble = ""

    @property
    def registry(self) -> Registry:
        assert self._last is not None
        return self._last

    def refresh(self, database: Database) -> str:
        """Read it again; returns what is new about it. Raises RegistryError while none could be read yet, StoreError."""
        try:
            self._last = self._load()
        except RegistryError as error:
            if self._last is None:
                raise
            return self._complain(database, str(error))
        mended, self.trouble = bool(self.trouble), ""
        return "the agent registry can be read again" if mended else ""

    def _complain(self, database: Database, trouble: str) -> str:
        if trouble == self.trouble:
            return ""
        with database.write() as connection:
            events.record(connection, MONITOR, "alert: registry", trouble, database.now())
        self.trouble = trouble
        return f"{trouble}; going on with the last one that could be read"


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
