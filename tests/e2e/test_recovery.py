"""The stories of recovery with the real pi in real terminals, each from its start to the result in the launcher."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator

import pytest
from e2e.fleet import CUT_OFF, HERDR, REPORT, WENT_ON, Child, Fleet, Launcher, Session


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    with Fleet() as fleet:
        yield fleet
        sys.stdout.write(fleet.story())  # pytest shows it with a failure


# -- the launcher crashes --------------------------------------------------------------------------------------


def test_a_child_that_finished_while_its_launcher_was_dead_is_asked_once_and_reports(fleet: Fleet) -> None:
    launcher = fleet.launch()
    child = launcher.spawn("Zeta", "SLEEP 0.1\nSAY ready", interactive=True)
    fleet.wait_for(lambda: launcher.written("seen"), what="the run to be noted")
    launcher.crash()
    fleet.wait_for(lambda: "ready" in str(Session(child.session).entries), what="the child's turn to end")
    launcher.come_back()
    fleet.wait_for(lambda: launcher.messages("intercom_message", REPORT), what="the report")
    assert_told_once(launcher, child)

    launcher.type("/reload")
    launcher.let_it_look()
    assert_told_once(launcher, child)
    launcher.crash()
    launcher.come_back()
    launcher.let_it_look()
    assert_told_once(launcher, child)
    assert len(launcher.notices) == 1
    assert launcher.results(child) == []


def assert_told_once(launcher: Launcher, child: Child) -> None:
    """Judged by the two session files: one question there, one report here."""
    (question,) = Session(child.session).messages("intercom_message")
    assert launcher.id in question["content"]
    assert len(launcher.messages("intercom_message", REPORT)) == 1
    assert [key["nudged"] for key in launcher.written("nudged")] == [child.run]
    assert launcher.messages("straw-boss") == []


# -- herdr restarts --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("how", "name"), [("stopped", "Beta"), ("killed", "'; rm -rf ~ #")])
def test_a_run_cut_off_by_a_restart_of_herdr_is_resumed_once_and_its_result_arrives(
    fleet: Fleet, how: str, name: str
) -> None:
    launcher = fleet.launch()
    child = launcher.spawn(name, "SLEEP 300\nSAY never said")
    pane = fleet.at_work(launcher, child)
    restarted = time.time()
    fleet.restart_herdr(kill=how == "killed")

    fleet.wait_for(lambda: is_plain(fleet, pane), what="the child's pane to come back plain")
    plain = time.time()
    fleet.wait_for(lambda: pane not in fleet.herdr.panes(), what="the plain pane to be closed")
    assert sum(plain <= look <= launcher.wrote("closing") for look in launcher.looks) <= 3

    fleet.wait_for(lambda: launcher.results(child), what="the result")
    launcher.let_it_look()
    (message,) = launcher.messages("straw-boss")
    (result,) = launcher.results(child)
    (call,) = launcher.tool_calls("subagent_resume")
    assert WENT_ON in result["content"]
    assert (call["sessionPath"], call["name"]) == (str(child.session), name)
    assert CUT_OFF in call["message"]
    assert json.dumps(call["message"], ensure_ascii=False) in message["content"]
    assert launcher.keys(child) == ["seen", "closing", "resumed"]
    assert launcher.notices == []
    nobody_typed(fleet, restarted, closed=[pane])


def test_a_worktree_child_keeps_its_pane_and_is_told_once_over_intercom(fleet: Fleet) -> None:
    launcher = fleet.launch()
    child = launcher.spawn("Delta", "SLEEP 300\nSAY never said", worktree={"branch": "delta"})
    pane = fleet.at_work(launcher, child)
    restarted = time.time()
    fleet.restart_herdr()

    fleet.wait_for(lambda: launcher.messages("straw-boss"), what="the message to the launcher")
    fleet.wait_for(lambda: launcher.messages("intercom_message", REPORT), what="the child's report")
    launcher.let_it_look()
    (message,) = launcher.messages("straw-boss")
    assert "Do not call subagent_resume" in message["content"]
    assert "It was told to go on" in message["content"]
    (told,) = Session(child.session).messages("intercom_message")
    assert CUT_OFF in told["content"]
    assert len(launcher.messages("intercom_message", REPORT)) == 1
    assert launcher.tool_calls("subagent_resume") == []
    for name, key in zip(["seen", "continued", "resumed"], launcher.written(), strict=True):
        assert key[name] == child.run
    assert fleet.herdr.pane(pane)["agent_session"]["value"] == str(child.session)
    assert launcher.notices == []
    nobody_typed(fleet, restarted, closed=[])


def is_plain(fleet: Fleet, pane: str) -> bool:
    """An idle pi and nothing else; or closed already."""
    told = fleet.herdr.panes().get(pane)
    argvs = [process.get("argv") for process in fleet.herdr.processes(pane)]
    return told is None or (told["agent_status"] in ("idle", "done") and argvs == [["pi"]])


def nobody_typed(fleet: Fleet, since: float, closed: list[str]) -> None:
    """By herdr's own log: all that was typed is pi-herdr-agents' resume script, into a pane it had just opened."""
    if HERDR:
        return
    resumed = [one["params"] for one in fleet.typed(since)]
    assert len(resumed) == len(closed)
    assert all("-resume-" in one["text"] and one["pane_id"] not in closed for one in resumed)
    own = fleet.own_requests()
    assert {one["method"] for one in own} <= {"pane.list", "pane.process_info", "pane.close"}
    assert fleet.closed() == closed
