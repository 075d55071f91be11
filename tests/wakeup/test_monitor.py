from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

import pytest

from strawboss.system.json_files import write_json
from strawboss.system.process_identity import identify
from strawboss.wakeup import monitor
from strawboss.wakeup.abandoned import host
from strawboss.wakeup.agents import Agent, Registry, RegistryError, load
from strawboss.wakeup.cycle import Rhythm
from strawboss.wakeup.health import Health
from strawboss.wakeup.keep_alive import record_file
from strawboss.wakeup.monitor import Clocks, MonitorLook, Vigil, after, look, wake, watch
from strawboss.wakeup.responses import OnStall
from strawboss.wakeup.store import cycles
from strawboss.wakeup.store.database import Database
from strawboss.wakeup.store.errors import StoreError

RHYTHM = Rhythm(0.5, 3.0)
AGENT = Agent("writer", command=[sys.executable, "-c", "print('done')"])


def old_beat(agent: Agent, seconds: float) -> None:
    """A record as a worker left it that long ago, the file's time included."""
    at = time.time() - seconds
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
    content = {
        "agent_id": agent.slug,
        "parent_id": "p",
        "last_heartbeat_at": stamp,
        "last_message": "x",
        "phase": "polling",
    }
    write_json(record_file(agent), content)
    os.utime(record_file(agent), (at, at))


def running_for(database: Database, agent: Agent, seconds: float) -> cycles.Cycle:
    me = identify(os.getpid())
    assert me is not None
    with database.write() as connection:
        return cycles.begin(connection, agent.name, host(), me, None, database.now() - seconds)


def test_the_first_look_only_observes_and_the_second_acts(
    light: Database, enlist: Callable[..., Registry]
) -> None:
    enlist(AGENT)
    old_beat(AGENT, 8 * 3600)
    looks = watch(load, light, RHYTHM, OnStall.KILL, every=0.001)
    first, second = next(looks), next(looks)
    assert isinstance(first, MonitorLook)
    assert isinstance(second, MonitorLook)
    assert first.responses["writer"].words == "none at the first look"
    assert second.responses["writer"].words.startswith("warn (kill refused: which process")


@pytest.mark.parametrize(
    ("wall", "monotonic", "counts_anew"),
    [(15, 15, False), (15 + 29, 15, False), (3600 + 15, 15, True), (-3600, 15, True), (15, 3600, True)],
)
def test_silences_count_anew_when_one_clock_jumps_against_the_other(
    wall: float, monotonic: float, counts_anew: bool
) -> None:
    vigil = after(after(Vigil(), Clocks(1000, 50)), Clocks(1000 + wall, 50 + monotonic))
    assert (vigil.awake_since == 50 + monotonic) == counts_anew
    assert not vigil.observes_only


def test_after_a_sleep_nobody_is_stale_for_one_timeout(
    light: Database, enlist: Callable[..., Registry]
) -> None:
    registry = enlist(AGENT)
    old_beat(AGENT, 3600)
    running_for(light, AGENT, 3600)
    assert look(registry, light, RHYTHM, OnStall.WARN).inspections[0].finding.health is Health.STALLED
    for since, well in ((0.0, True), (3.0, True), (3.1, False)):
        assert look(registry, light, RHYTHM, OnStall.WARN, since=since).is_well is well


def test_a_resident_monitor_says_that_the_machine_slept(
    light: Database, enlist: Callable[..., Registry], monkeypatch: pytest.MonkeyPatch
) -> None:
    enlist(AGENT)
    looks = watch(load, light, RHYTHM, OnStall.WARN, every=0.001)
    next(looks)
    real = time.time
    monkeypatch.setattr(monitor.time, "time", lambda: real() + 3600)
    found = next(looks)
    assert isinstance(found, MonitorLook)
    assert found.note == monitor.RESUMED


def test_a_store_that_is_away_is_a_finding_and_the_watch_goes_on(
    light: Database, enlist: Callable[..., Registry]
) -> None:
    from pathlib import Path

    enlist(AGENT)
    file = Path(os.environ["STRAWBOSS_STORE"].removeprefix("sqlite:///"))
    looks = watch(load, light, RHYTHM, OnStall.WARN, every=0.001)
    file.rename(file.with_suffix(".away"))
    assert isinstance(next(looks), StoreError)
    file.with_suffix(".away").rename(file)
    assert isinstance(next(looks), MonitorLook)


def test_what_is_unknown_is_never_acted_on(light: Database, enlist: Callable[..., Registry]) -> None:
    registry = enlist(AGENT)
    write_json(record_file(AGENT), {"agent_id": "somebody else"})
    found = look(registry, light, RHYTHM, OnStall.KILL)
    assert found.inspections[0].finding.health is Health.UNKNOWN
    assert found.responses["writer"].words == "warn"
    assert not found.is_well


def test_waking_a_healthy_agent_does_nothing_and_says_so(
    light: Database, enlist: Callable[..., Registry]
) -> None:
    registry = enlist(AGENT)
    running_for(light, AGENT, 0)
    assert wake(registry, light, RHYTHM, "writer") == (True, "writer is healthy: nothing to do")


def test_waking_an_idle_agent_starts_it(
    light: Database, enlist: Callable[..., Registry], until: Callable[..., object]
) -> None:
    registry = enlist(AGENT)
    well, said = wake(registry, light, RHYTHM, "agent-writer")
    assert well
    assert said.startswith("writer was idle: started as pid ")

    def ended() -> bool:
        with light.read() as connection:
            return cycles.latest(connection)["writer"].outcome == "ended"

    until(ended, "the cycle to end")


def test_waking_an_agent_nobody_can_judge_is_refused(
    light: Database, enlist: Callable[..., Registry]
) -> None:
    registry = enlist(AGENT)
    write_json(record_file(AGENT), {"agent_id": "somebody else"})
    well, said = wake(registry, light, RHYTHM, "writer")
    assert not well
    assert said.startswith("writer is not woken: its heartbeat record cannot be used: ")


def test_waking_a_stalled_agent_without_a_known_process_is_refused(
    light: Database, enlist: Callable[..., Registry]
) -> None:
    registry = enlist(AGENT)
    old_beat(AGENT, 60)
    well, said = wake(registry, light, RHYTHM, "writer")
    assert (well, "not certain" in said) == (False, True)


def test_waking_nobody_is_refused_by_name(light: Database, enlist: Callable[..., Registry]) -> None:
    with pytest.raises(RegistryError, match="nobody"):
        wake(enlist(AGENT), light, RHYTHM, "nobody")
