"""What is stranded again by a further restart, and what no restart brings back, with the real pi in real terminals."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from e2e.fleet import HERDR, REPORT, WENT_ON, Child, Fleet, Launcher, Session, cut_off
from namespaces import runs_alone

from strawboss.overview.report import NeedsYou

TASK = "SLEEP 300\nSAY never said"


@contextmanager
def machine(config: str = "", restarts: int = 1) -> Iterator[Fleet]:
    """Its children are cut off by so many restarts, and get done after the last."""
    with Fleet(config=config, script=cut_off(restarts)) as fleet:
        try:
            yield fleet
        finally:
            sys.stdout.write(fleet.story())  # pytest shows it with a failure


# -- when it is asked for --------------------------------------------------------------------------------------


def test_a_child_is_recovered_through_three_restarts_of_herdr_and_reports_once() -> None:
    with machine("resumed: recover\n", restarts=3) as fleet:
        launcher = fleet.launch()
        runs = [launcher.spawn("Beta", TASK)]
        panes = []
        for number in (1, 2, 3):
            panes.append(fleet.at_work(launcher, runs[-1], turn=number))
            fleet.restart_herdr()
            fleet.wait_for(lambda: len(launcher.resumed(runs[0])) == number, what="the resume")  # noqa: B023
            runs.append(launcher.resumed(runs[0])[-1])

        fleet.wait_for(lambda: launcher.results(runs[0]), what="the result")
        launcher.let_it_look()
        (result,) = launcher.results(runs[0])
        assert WENT_ON in result["content"]
        assert len({run.run for run in runs}) == 4
        for run in runs[:3]:
            assert launcher.keys(run) == ["seen", "closing", "resumed"]
        assert len(launcher.messages("straw-boss")) == len(launcher.tool_calls("subagent_resume")) == 3
        assert launcher.notices == []
        assert HERDR or fleet.closed() == panes


def test_a_worktree_child_is_told_to_go_on_after_each_of_two_restarts_and_reports_once() -> None:
    """Power losses: a pi that is hung up may say of its turn that it was aborted, which in a restored pane, where nothing
    writes its activity, looks like its boss's Esc."""
    with machine("resumed: recover\n", restarts=2) as fleet:
        launcher = fleet.launch()
        child = launcher.spawn("Delta", TASK, worktree={"branch": "delta"})
        for number in (1, 2):
            fleet.at_work(launcher, child, turn=number)
            fleet.lose_power()
            fleet.wait_for(lambda: len(launcher.written("resumed")) == number, what="the run to be told of")  # noqa: B023

        fleet.wait_for(lambda: launcher.messages("intercom_message", REPORT), what="the child's report")
        launcher.let_it_look()
        assert len(launcher.messages("straw-boss")) == 2
        assert len(launcher.messages("intercom_message", REPORT)) == 1
        assert len(Session(child.session).messages("intercom_message")) == 2
        assert launcher.keys(child) == ["seen", "continued", "resumed", "continued", "resumed"]
        assert len({key["terminal"] for key in launcher.written("resumed")}) == 2
        assert launcher.tool_calls("subagent_resume") == launcher.notices == []
        assert HERDR or fleet.closed() == []


def test_a_child_whose_pane_was_forgotten_comes_home(request: pytest.FixtureRequest) -> None:
    """By itself on its machine: no pi may be there of which nobody knows the session."""
    if not runs_alone(f"{request.path}::{request.node.name}"):
        return
    with machine("lost: recover\n") as fleet:
        launcher = fleet.launch()
        child = forgotten(fleet, launcher)
        fleet.wait_for(lambda: launcher.results(child), what="the result")
        launcher.let_it_look()
        (result,) = launcher.results(child)
        (message,) = launcher.messages("straw-boss")
        assert WENT_ON in result["content"]
        assert "their panes are gone, nothing was closed" in message["content"]
        assert launcher.keys(child) == ["seen", "lost", "resumed"]
        assert len(launcher.tool_calls("subagent_resume")) == 1
        assert launcher.notices == []
        assert HERDR or fleet.closed() == []


def forgotten(fleet: Fleet, launcher: Launcher) -> Child:
    """A child that herdr had not saved when it was killed, which is what it had to bring back."""
    fleet.wait_for(fleet.is_saved, what="herdr to save the launcher's pane")
    saved = fleet.saved
    child = launcher.spawn("Kappa", TASK)
    fleet.at_work(launcher, child)
    fleet.restart_herdr(kill=True, as_saved=saved)
    assert fleet.herdr.pane_on(child.session) is None
    return child


# -- by default ------------------------------------------------------------------------------------------------


def test_by_default_a_second_restart_leaves_both_to_a_person_with_one_warning_each() -> None:
    with machine(restarts=2) as fleet:
        launcher = fleet.launch()
        beta = launcher.spawn("Beta", TASK)
        delta = launcher.spawn("Delta", TASK, worktree={"branch": "delta"})
        for child in (beta, delta):
            fleet.at_work(launcher, child)
        fleet.restart_herdr()
        fleet.wait_for(lambda: launcher.resumed(beta), what="the resume")
        resumed = launcher.resumed(beta)[0]
        for child in (resumed, delta):
            fleet.at_work(launcher, child, turn=2)
        fleet.wait_for(lambda: "resumed" in launcher.keys(delta), what="the worktree run to be told of")
        before, told = fleet.closed(), len(Session(delta.session).messages("intercom_message"))
        messages = launcher.messages("straw-boss")

        fleet.restart_herdr()
        fleet.wait_for(lambda: len(launcher.notices) == 2, what="both warnings")
        launcher.come_back_anew()
        launcher.let_it_look()
        assert all("`resumed: recover`" in notice for notice in launcher.notices)
        for child in (resumed, delta):
            assert launcher.keys(child)[-1] == "warned"
            (notice,) = (notice for notice in launcher.notices if child.run in notice)
            assert str(child.session) in notice
        needs = needs_of(fleet, resumed, delta)
        assert needs[resumed.run].what.startswith("is stranded again and left to you: close its pane ")
        assert needs[resumed.run].command == f'subagent_resume {{"sessionPath": "{beta.session}"}}'
        assert needs[delta.run].what.startswith(
            "is stranded again and left to you: go on with it in its pane "
        )
        assert launcher.messages("straw-boss") == messages
        assert len(launcher.resumed(beta)) == 1
        assert launcher.results(beta) == launcher.messages("intercom_message", REPORT) == []
        assert len(Session(delta.session).messages("intercom_message")) == told
        assert HERDR or fleet.closed() == before


def needs_of(fleet: Fleet, *children: Child) -> dict[str, NeedsYou]:
    """What `strawboss status` tells a person to do, which is for these alone."""
    told, code = fleet.status()
    needs = {need.run: need for launcher in told.launchers for need in launcher.needs_you}
    assert (code, set(needs)) == (1, {child.run for child in children})
    return needs


def test_by_default_a_child_whose_pane_was_forgotten_gets_one_warning_with_the_call_to_make(
    request: pytest.FixtureRequest,
) -> None:
    """By itself on its machine: the setting is named only where no other pi could be the one that holds the session."""
    if not runs_alone(f"{request.path}::{request.node.name}"):
        return
    with machine() as fleet:
        launcher = fleet.launch()
        child = forgotten(fleet, launcher)
        fleet.wait_for(lambda: launcher.notices, what="the warning")
        launcher.come_back_anew()
        launcher.let_it_look(12)
        (notice,) = launcher.notices
        assert "`lost: recover`" in notice
        assert f'subagent_resume {{"sessionPath": "{child.session}"}}' in notice
        assert launcher.keys(child) == ["seen", "lost"]
        assert needs_of(fleet, child)[child.run].command in notice
        assert launcher.messages("straw-boss") == launcher.results(child) == []
        assert HERDR or fleet.closed() == []
