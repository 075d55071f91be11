"""The first subagent of a session, with the real pi in real terminals: strawboss starts with it and notes it."""

from __future__ import annotations

import sys
from pathlib import Path

from e2e.fleet import Fleet
from e2e.rpc import descendants


def processes(pid: int) -> list[str]:
    """strawboss's own under that pi; pi-herdr-agents runs a command of herdr beside it now and then."""
    commands = [Path(f"/proc/{child}/cmdline") for child in descendants(pid)]
    said = [command.read_bytes().decode() for command in commands if command.exists()]
    return [one for one in said if "tapped_process" in one]


def test_the_first_subagent_of_a_session_without_a_process_is_noted_within_one_look() -> None:
    interval = 15.0  # the real one: what is noted sooner was noted by the looks right after the start
    with Fleet(interval=interval) as fleet:
        launcher = fleet.launch()
        assert processes(launcher.pid) == []
        assert (fleet.asked, list(fleet.state.glob("**/*"))) == ([], [])
        child = launcher.spawn("Beta", "SLEEP 60")
        fleet.wait_for(lambda: launcher.written("seen"), what="the run to be noted")
        sys.stdout.write(fleet.story())
        assert [key["seen"] for key in launcher.written("seen")] == [child.run]
        assert launcher.wrote("seen") - launcher.looks[0] < interval
        assert len(processes(launcher.pid)) == 1
        assert launcher.notices == []
