from __future__ import annotations

import stat
import sys
from collections.abc import Callable

import pytest

from strawboss.wakeup import launch as module
from strawboss.wakeup.agents import Agent, Registry
from strawboss.wakeup.cycle import Rhythm, woken
from strawboss.wakeup.launch import LaunchError, launch, log_file
from strawboss.wakeup.store import cycles
from strawboss.wakeup.store.database import Database

RHYTHM = Rhythm(0.5, 3.0)
AGENT = Agent("writer", command=[sys.executable, "-c", "print('done')"])


def test_a_wake_up_is_started_and_has_begun_when_its_pid_comes_back(
    light: Database, enlist: Callable[..., Registry], until: Callable[..., object]
) -> None:
    enlist(AGENT)
    pid = launch("writer", RHYTHM, light)

    def ended() -> bool:
        with light.read() as connection:
            return cycles.latest(connection)["writer"].outcome == "ended"

    until(ended, "the cycle to end")
    with light.read() as connection:
        assert cycles.latest(connection)["writer"].process.pid == pid
    assert stat.S_IMODE(log_file("writer").stat().st_mode) == 0o600
    assert "## Heartbeat — writer (agent-writer)" in log_file("writer").read_text()


def test_a_wake_up_that_ends_at_once_says_where_to_look(
    light: Database, enlist: Callable[..., Registry]
) -> None:
    registry = enlist(AGENT)
    with (
        woken(AGENT, registry, light, RHYTHM),
        pytest.raises(LaunchError, match=r"ended at once with 1; see .*writer.log"),
    ):
        launch("writer", RHYTHM, light)
    assert "writer runs already" in log_file("writer").read_text()


def test_a_wake_up_that_never_begins_is_not_waited_for_for_ever(
    light: Database, enlist: Callable[..., Registry], monkeypatch: pytest.MonkeyPatch
) -> None:
    enlist(AGENT)
    monkeypatch.setattr(module, "PROGRAM", "import time; time.sleep(2)")
    monkeypatch.setattr(module, "START_SECONDS", 0.1)
    with pytest.raises(LaunchError, match="did not begin within"):
        launch("writer", RHYTHM, light)
    for child in module._children:
        child.wait()
