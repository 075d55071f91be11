"""`strawboss status` while herdr is killed under three real launchers, one of which never comes back."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest
from e2e.fleet import Child, Fleet, Launcher, Session
from e2e.terminal import COLUMNS, Terminal

from strawboss.herdr import installation
from strawboss.herdr.installation import PLUGIN
from strawboss.overview.report import Launcher as Shown

STATUS = [sys.executable, "-m", "strawboss", "status"]


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    with Fleet() as fleet:
        yield fleet
        sys.stdout.write(fleet.story())  # pytest shows it with a failure


def test_it_says_the_right_thing_before_during_and_after_herdr_is_killed(fleet: Fleet) -> None:
    with ThreadPoolExecutor() as pool:
        started = list(pool.map(lambda number: launched(fleet, number), (1, 2, 3)))
    launchers = [launcher for launcher, _ in started]
    children = {launcher.id: ran for launcher, ran in started}
    installation.install(fleet.herdr.env, fleet.root / "plugin", sys.executable)

    told, code = fleet.status()
    assert (code, told.needs_you) == (0, 0)
    assert all(one.looking and one.pid for one in told.launchers)
    assert {one.session: states(one) for one in told.launchers} == {
        launcher.id: {child.run: "tracked" for child in children[launcher.id]} for launcher in launchers
    }
    lines, code = shown(fleet)
    assert code == 0
    assert lines[0] == "strawboss: nothing needs you"
    assert lines[-1].startswith("3 quiet launchers; 6 runs at work and 0 settled; looked at ")

    *back, gone = launchers
    gone.crash()
    fleet.herdr.request("pane.close", pane_id=gone.pane)
    fleet.wait_for(lambda: fleet.is_saved() and str(gone.file) not in fleet.saved, what="herdr to save that")
    fleet.herdr.kill()
    fleet.wait_for(lambda: not fleet._living_pis(), what="every pi to end")
    told, code = fleet.status()
    assert (code, told.needs_you) == (1, 6)
    assert all(one.looking is False and one.pid is None for one in told.launchers)
    lines, code = shown(fleet)
    assert code == 1
    assert lines[0] == "strawboss: 6 need you"
    assert_whole(lines, [child for ran in children.values() for child in ran])
    for launcher in launchers:
        assert bring_back(fleet, launcher) in copied(lines)

    fleet.herdr.start()
    for launcher in back:
        for child in children[launcher.id]:
            fleet.wait_for(lambda: launcher.results(child), what="the result")  # noqa: B023
        launcher.let_it_look()
    told, code = fleet.status()
    assert (code, told.needs_you) == (1, 2)
    by_session = {one.session: one for one in told.launchers}
    assert all(by_session[one.id].looking and not by_session[one.id].needs_you for one in back)
    assert {need.command for need in by_session[gone.id].needs_you} == {bring_back(fleet, gone)}
    assert {need.run for need in by_session[gone.id].needs_you} == {one.run for one in children[gone.id]}
    lines, code = shown(fleet)
    assert code == 1
    assert lines[0] == "strawboss: 2 need you, 4 recovered in the last 24 hours"
    assert_whole(lines, [child for ran in children.values() for child in ran])

    assert announced(fleet) == ["4 runs recovered, 2 need you\n"]

    pane = fleet.herdr.workspace(fleet.home)
    fleet.herdr.run(pane, by_session[gone.id].needs_you[0].command)
    for child in children[gone.id]:
        fleet.wait_for(lambda: gone.results(child), what="the result")  # noqa: B023
    fleet.wait_for(lambda: fleet.status()[1] == 0, what="its runs to be seen to")


def launched(fleet: Fleet, number: int) -> tuple[Launcher, list[Child]]:
    """A launcher with two children at work, all noted."""
    launcher = fleet.launch()
    ran = [launcher.spawn(f"{name}{number}", "SLEEP 300\nSAY never said") for name in ("Ada", "Ben")]
    for child in ran:
        fleet.wait_for(lambda: Session(child.session).tool_calls("bash"), what="its tool call")  # noqa: B023
    fleet.wait_for(lambda: len(launcher.written("seen")) == 2, what="both runs to be noted")
    return launcher, ran


def announced(fleet: Fleet) -> list[str]:
    """What the plugin has shown since herdr has started, once it has settled."""

    def logs() -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = fleet.herdr.request("plugin.log.list", plugin_id=PLUGIN)["logs"]
        return listed

    fleet.wait_for(lambda: {log["status"] for log in logs()} == {"succeeded"}, what="the notification")
    return [log["stdout"] for log in logs()]


def shown(fleet: Fleet) -> tuple[list[str], int]:
    with Terminal(STATUS, fleet.herdr.env) as terminal:
        code = terminal.wait()
        return terminal.lines, code


def states(launcher: Shown) -> dict[str, str]:
    return {run.run: run.state for run in launcher.runs}


def bring_back(fleet: Fleet, launcher: Launcher) -> str:
    return f"cd {fleet.project} && pi --session {launcher.id}"


def copied(lines: list[str]) -> str:
    """As a shell takes what is copied from the screen."""
    return " ".join("\n".join(lines).replace("\\\n", "").split())


def assert_whole(lines: list[str], children: list[Child]) -> None:
    """Every child is named, and no line was broken by the terminal."""
    text = "\n".join(lines)
    assert all(f'"{child.name}" ({child.run})' in text for child in children), text
    assert max(map(len, lines)) <= COLUMNS


def test_what_is_written_fits_the_schema_that_is_shipped(fleet: Fleet) -> None:
    told, _ = fleet.status()
    assert json.loads(msgspec.json.encode(told)) == {"launchers": [], "needs_you": 0}
