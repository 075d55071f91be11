"""Panes brought to the front and closed launchers opened, in a herdr with real terminals."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from contract.test_herdr import at_prompt, client_of, new_herdr, start_pi, tell_session
from standins.herdr import HerdrServer

from strawboss.overview.seen import Reports, Seen, Watch
from strawboss.recovery.commands import Outcome, Result
from strawboss.recovery.evidence import Launcher
from strawboss.survey.acts import IN_A_PANE, IN_NO_PANE, NOT_CLOSED, focus, reopen

pytestmark = pytest.mark.slow

DONE = Result(Outcome.DONE)


@pytest.fixture
def herdr() -> Iterator[HerdrServer]:
    with (
        tempfile.TemporaryDirectory(prefix="sb-", dir="/tmp") as root,
        new_herdr("stand-in", Path(root)) as server,
    ):
        yield server


@pytest.fixture
def pane(herdr: HerdrServer) -> str:
    pane = herdr.workspace(herdr.root / "project")
    at_prompt(herdr, pane)
    return pane


@pytest.fixture
def launcher(herdr: HerdrServer) -> Launcher:
    return Launcher("boss", "", str(herdr.root / "2026_boss.jsonl"), str(herdr.root / "project"))


@pytest.fixture
def closed(launcher: Launcher) -> Seen:
    return Seen(launcher, Watch.CLOSED, Reports.of(()))


def failed(why: str) -> Result:
    return Result(Outcome.FAILED, why)


def stopped(herdr: HerdrServer) -> Result:
    herdr.stop()
    return failed("herdr cannot be reached: No such file or directory")


# -- f ---------------------------------------------------------------------------------------------------------


def test_the_pane_on_the_launcher_s_session_comes_to_the_front(
    herdr: HerdrServer, pane: str, launcher: Launcher
) -> None:
    start_pi(herdr, pane)
    tell_session(herdr, pane, launcher.file)
    herdr.workspace(herdr.root, "other")
    assert not herdr.pane(pane)["focused"]
    assert focus(launcher, client_of(herdr)) == DONE
    assert herdr.pane(pane)["focused"]


def test_of_two_panes_on_it_the_one_in_which_pi_runs_does(
    herdr: HerdrServer, pane: str, launcher: Launcher
) -> None:
    start_pi(herdr, pane)
    tell_session(herdr, pane, launcher.file)
    herdr.request("pane.send_keys", pane_id=pane, keys=["ctrl+c"])
    at_prompt(herdr, pane)
    second = herdr.workspace(herdr.root, "second")
    at_prompt(herdr, second)
    start_pi(herdr, second)
    tell_session(herdr, second, launcher.file)
    herdr.workspace(herdr.root, "other")
    assert focus(launcher, client_of(herdr)) == DONE
    assert herdr.pane(second)["focused"]


def test_where_none_is_on_it_nothing_moves(herdr: HerdrServer, pane: str, launcher: Launcher) -> None:
    assert focus(launcher, client_of(herdr)) == failed(IN_NO_PANE)
    assert herdr.requests("pane.focus") == []


def test_without_herdr_it_says_so(herdr: HerdrServer, launcher: Launcher) -> None:
    why = stopped(herdr)
    assert focus(launcher, client_of(herdr)) == why


# -- o ---------------------------------------------------------------------------------------------------------


def test_a_closed_launcher_is_opened_in_a_tab_of_its_directory_and_nothing_is_typed(
    herdr: HerdrServer, pane: str, closed: Seen
) -> None:
    assert reopen(closed, client_of(herdr), herdr.env) == DONE
    (opened,) = set(herdr.panes()) - {pane}
    herdr.wait_for(lambda: herdr.pane(opened).get("agent") == "pi", what="herdr to see pi")
    assert herdr.pane(opened)["cwd"] == closed.launcher.cwd
    called = (herdr.root / "home" / "pi-was-called-with").read_text()
    assert called == f"--session {closed.launcher.file}\n"
    for typing in ("pane.send_text", "pane.send_keys", "pane.send_input"):
        assert herdr.requests(typing) == []


def test_one_that_is_in_a_pane_by_now_is_not_opened_again(
    herdr: HerdrServer, pane: str, closed: Seen
) -> None:
    start_pi(herdr, pane)
    tell_session(herdr, pane, closed.launcher.file)
    assert reopen(closed, client_of(herdr), herdr.env) == failed(IN_A_PANE)
    assert list(herdr.panes()) == [pane]


def test_one_whose_pi_is_about_to_come_back_is_not_opened_either(
    herdr: HerdrServer, pane: str, closed: Seen
) -> None:
    start_pi(herdr, pane)
    tell_session(herdr, pane, closed.launcher.file)
    herdr.wait_for(lambda: closed.launcher.file in saved(herdr), what="herdr to save")
    herdr.restart()
    assert reopen(closed, client_of(herdr), herdr.env) == failed(IN_A_PANE)


def saved(herdr: HerdrServer) -> str:
    return "".join(file.read_text() for file in herdr.root.glob("config/*/session.json"))


@pytest.mark.parametrize("watch", sorted(set(Watch) - {Watch.CLOSED}, key=str))
def test_one_that_is_not_closed_is_not_opened(
    herdr: HerdrServer, pane: str, closed: Seen, watch: Watch
) -> None:
    seen = replace(closed, watch=watch)
    assert reopen(seen, client_of(herdr), herdr.env) == failed(NOT_CLOSED)
    assert list(herdr.panes()) == [pane]


def test_without_herdr_nothing_is_opened(herdr: HerdrServer, closed: Seen) -> None:
    why = stopped(herdr)
    assert reopen(closed, client_of(herdr), herdr.env) == why
