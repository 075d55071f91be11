from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import update
from wakeup.identities import NOBODY

from strawboss.heartbeat.clocks import Clocks
from strawboss.system.json_files import write_json
from strawboss.system.process_identity import identify
from strawboss.wakeup import monitor
from strawboss.wakeup.abandoned import host, own_place
from strawboss.wakeup.agents import Agent, Registry, RegistryError, load
from strawboss.wakeup.cycle import Rhythm
from strawboss.wakeup.health import Health
from strawboss.wakeup.keep_alive import record_file
from strawboss.wakeup.monitor import MonitorLook, Vigil, after, look, wake, watch
from strawboss.wakeup.responses import OnStall
from strawboss.wakeup.store import cycles, events, hosts, schema
from strawboss.wakeup.store.database import Database, open_database
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


def begun(database: Database, agent: Agent, pid: int, ago: float = 0.0) -> cycles.Cycle:
    process = identify(pid)
    assert process is not None
    with database.write() as connection:
        return cycles.begin(connection, agent.name, host(), process, None, database.now() - ago)


def running_for(database: Database, agent: Agent, seconds: float) -> cycles.Cycle:
    return begun(database, agent, os.getpid(), seconds)


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


@pytest.mark.parametrize(
    ("fall", "of", "held_back"), [(2, 2, False), (3, 5, True), (3, 6, False), (4, 4, True)]
)
def test_when_many_fall_silent_at_once_that_look_only_alerts_and_the_next_one_acts(
    light: Database, enlist: Callable[..., Registry], fall: int, of: int, held_back: bool
) -> None:
    team = [Agent(f"a{number}", command=["cat"]) for number in range(of)]
    enlist(*team)
    with subprocess.Popen(["sleep", "600"]) as sleeper:
        for agent in team:
            begun(light, agent, sleeper.pid)
        looks = watch(load, light, RHYTHM, OnStall.KILL, every=0.001)
        assert well(next(looks))
        with light.write() as connection:
            for table in (schema.cycles.c.began_at, schema.heartbeats.c.at):
                connection.execute(update(table.table).values({table: light.now() - 100}))
        for number, agent in enumerate(team):
            old_beat(agent, 60 if number < fall else 0)
        said = (
            f"warn ({fall} of {of} fell silent within one look: the witness is suspect, the next look acts)"
        )
        first = words(next(looks))
        assert (first == dict.fromkeys(first, said)) is held_back
        assert (sleeper.poll() is None) is held_back
        if held_back:
            assert words(next(looks))["a0"] == "kill (ended; gave back nothing)"
        sleeper.kill()
    with light.read() as connection:
        written = [event.detail for event in events.history(connection, 100, "a0")]
    assert any("witness is suspect" in detail for detail in written) is held_back


def words(look: object) -> dict[str, str]:
    assert isinstance(look, MonitorLook)
    return {name: response.words for name, response in look.responses.items()}


@pytest.mark.parametrize("rubbish", [b"\0", b"\xff", b"SQLite"])
def test_whatever_page_of_the_store_is_damaged_an_agent_that_died_is_never_all_well(
    light: Database, enlist: Callable[..., Registry], home: Path, rubbish: bytes
) -> None:
    registry, file = enlist(AGENT), home / "state" / "store.sqlite"
    with light.write() as connection:
        cycles.begin(connection, "writer", host(), NOBODY, None, light.now())
    light.close()
    whole, seen = file.read_bytes(), Counter[str]()
    size = int.from_bytes(whole[16:18], "big")
    for start in range(0, len(whole), size):
        damaged = whole[:start] + (rubbish * size)[:size] + whole[start + size :]
        for left in home.glob("state/store.sqlite*"):
            left.unlink()
        file.write_bytes(damaged)
        seen[how_it_looks(registry)] += 1
    assert set(seen) == {"an error", "not well"}, seen


def how_it_looks(registry: Registry) -> str:
    try:
        database = open_database()
    except StoreError:
        return "an error"
    try:
        return "well" if look(registry, database, RHYTHM, OnStall.WARN).is_well else "not well"
    except StoreError:
        return "an error"
    finally:
        database.close()


def test_a_registry_that_breaks_is_one_alert_and_the_last_good_one_serves(
    light: Database, enlist: Callable[..., Registry]
) -> None:
    file = enlist(AGENT).path
    good = file.read_text()
    looks = watch(load, light, RHYTHM, OnStall.WARN, every=0.001)
    assert well(next(looks))
    file.write_text("agents: [")
    broken = [next(looks) for _ in range(3)]
    assert [len(look.inspections) for look in broken] == [1, 1, 1]  # type: ignore[union-attr]
    assert [bool(look.note) for look in broken] == [True, False, False]  # type: ignore[union-attr]
    assert not any(map(well, broken))
    file.write_text(good)
    mended = next(looks)
    assert well(mended)
    assert mended.note == "the agent registry can be read again"  # type: ignore[union-attr]
    with light.read() as connection:
        alerts = [one.event for one in events.history(connection, 100) if one.agent == "strawboss"]
    assert alerts == ["alert: registry"]


def test_a_registry_that_could_never_be_read_is_what_each_look_finds(
    light: Database, enlist: Callable[..., Registry]
) -> None:
    file = enlist(AGENT).path
    file.write_text("agents: [")
    looks = watch(load, light, RHYTHM, OnStall.WARN, every=0.001)
    assert [type(next(looks)) for _ in range(2)] == [RegistryError, RegistryError]


def well(look: object) -> bool:
    assert isinstance(look, MonitorLook)
    return look.is_well


def test_a_resident_monitor_holds_the_lease_of_its_place(
    light: Database, enlist: Callable[..., Registry]
) -> None:
    enlist(AGENT)
    looks = watch(load, light, RHYTHM, OnStall.WARN, every=0.001)
    next(looks)
    with light.read() as connection:
        until = hosts.watched_until(connection)[own_place()]
    assert 0 < until - light.now() <= RHYTHM.timeout


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
