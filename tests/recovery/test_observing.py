"""Mode `observe`: everything but acts; each thing that would have been done is said once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from recovery.desk import Desk, restored, stranded
from recovery.given import FILE, RUN, SETTINGS
from tape.scenes import STORIES, directory

from strawboss.recovery.commands import ClosePane, Notify, SendIntercom, TellLauncher, WriteKey
from strawboss.recovery.evidence import KeyEntry, Worktree
from strawboss.recovery.keys import FOLD, NUDGED, SEEN
from strawboss.recovery.observing import ACTS, MAY_ACT, take_look
from strawboss.recovery.settings import Settings
from strawboss.tape.cases import open_fixture
from strawboss.tape.moment import open_recording
from strawboss.tape.play import Told, play

FIXTURES = Path(__file__).parents[2] / "fixtures"
OBSERVING = replace(SETTINGS, observe=True)
ACTING = (WriteKey, ClosePane, SendIntercom, TellLauncher)


@pytest.fixture(autouse=True)
def take() -> Iterator[None]:
    with mock.patch("recovery.desk.look_at_runs", take_look):
        yield


def notices(desk: Desk) -> list[str]:
    return [one.text for one in desk.did(Notify)]


@pytest.mark.parametrize(
    ("make", "act"),
    [
        (stranded, "be asked for its report"),
        (restored, "have its restored pane closed and be handed to its launcher"),
    ],
)
def test_what_would_be_done_is_said_once_and_not_done(make: Any, act: str) -> None:
    desk = make(settings=OBSERVING)
    look = desk.look_times(6)
    assert not any(desk.did(kind) for kind in ACTING)
    assert notices(desk) == [f'Straw Boss only observes: "Zeta" (run {RUN}) would now {act}.']
    [report] = look.runs
    assert report.stranded
    assert report.obstacle == MAY_ACT.no(f"mode: observe; it would {act}")


def test_another_process_says_it_again_and_one_that_may_act_does_it() -> None:
    desk = stranded(settings=OBSERVING)
    desk.look_times(3)
    desk.restart()
    desk.look_times(3)
    assert len(notices(desk)) == 2
    desk.restart()
    desk.settings = SETTINGS
    desk.look_times(2)
    assert len(desk.did(SendIntercom)) == 1


def test_a_running_child_is_not_noted() -> None:
    desk = stranded(settings=OBSERVING, registry=frozenset({RUN}))
    desk.transcript = replace(desk.transcript, keys=())
    desk.look_times(3)
    assert desk.effects() == []


def test_what_an_acting_process_began_is_not_gone_on_with() -> None:
    """Its pane is closed and its launcher is to be told: no message is put, and none counts as put."""
    desk = restored(settings=OBSERVING, panes=(Desk().panes[0],))
    closing = KeyEntry("closing", RUN, {"pane": "w1:p3", "terminal": "term-new"})
    desk.transcript = replace(desk.transcript, keys=(*desk.transcript.keys, closing))
    look = desk.look_times(6)
    assert not any(desk.did(kind) for kind in ACTING)
    assert notices(desk) == [
        f'Straw Boss only observes: "Zeta" (run {RUN}) would now be handed to its launcher.'
    ]
    assert look.runs[0].stranded
    desk.restart()
    desk.settings = SETTINGS
    desk.look_times(2)
    assert len(desk.did(TellLauncher)) == 1


def test_a_worktree_child_that_was_cut_off_is_not_told() -> None:
    files = replace(Desk().files[RUN], worktree=Worktree("active", "w1:p3", "/w", "b"))
    desk = restored(settings=OBSERVING, files={RUN: files})
    desk.look_times(6)
    assert not any(desk.did(kind) for kind in ACTING)
    assert len(notices(desk)) == 1


def test_every_key_that_stands_before_an_act_has_its_words() -> None:
    assert set(ACTS) == set(FOLD) - {SEEN}


# -- whatever was recorded or reported ---------------------------------------------------------------------------

CASES = sorted((FIXTURES / "reports").glob("*.json"))


def told_of_scene(name: str, settings: Settings) -> list[Told]:
    return play([open_recording(directory(moment), None, "linux") for moment in STORIES[name]], settings)[0]


def observed(story: list[Told]) -> tuple[list[type], int]:
    done = [type(command) for told in story for command, _ in told.done]
    would = sum(
        one.obstacle is not None and one.obstacle.is_of([MAY_ACT]) for told in story for one in told.runs
    )
    return done, would


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_nothing_is_ever_done_in_any_reported_case(case: Path) -> None:
    done, _ = observed(play(open_fixture(case), OBSERVING)[0])
    assert set(done) <= {Notify}


@pytest.mark.parametrize("scene", STORIES)
def test_a_recorded_scene_is_only_observed(scene: str) -> None:
    """Nothing is noted, so that a restore is proven only for a run that an acting process noted before."""
    done, would = observed(told_of_scene(scene, replace(Settings(), observe=True)))
    acting = [command for told in told_of_scene(scene, Settings()) for command, _ in told.done]
    assert set(done) <= {Notify}
    assert bool(would) == any(isinstance(one, WriteKey) and one.key == NUDGED for one in acting)


def test_the_desk_is_the_one_that_acts_otherwise() -> None:
    desk = restored()
    desk.look_times(2)
    assert desk.did(ClosePane)
    assert FILE in desk.did(TellLauncher)[0].text
