"""Black box: real pi in real terminals, and whatever takes part in a recovery is killed with SIGKILL.

Nothing of strawboss is asked what it thinks: the session file, the broker's frames, herdr's requests and the resume
scripts of the subagents extension say what happened. The moments come from a seed that is printed:

    STRAWBOSS_TEST_SEED=7 STRAWBOSS_TEST_ROUNDS=30 pytest tests/crash/test_black_box.py
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import pytest
from crash.killer import END_KEYS, HERDR, PI, STRAWBOSS, Killer
from e2e.fleet import HERDR as REAL_HERDR
from e2e.fleet import INTERCOM, Child, Fleet, Launcher, Session, cut_off

pytestmark = pytest.mark.slow

SEED = int(os.environ.get("STRAWBOSS_TEST_SEED", "1"))
KILLS = 3  # a round
GIVE_UPS = ("gave up on", "could not ask", "could not put", "took that back", "did not come back")

needs_logs = pytest.mark.skipif(
    bool(REAL_HERDR or INTERCOM), reason="the real neighbours keep no log to judge by"
)


# -- the stories, up to where the run is stranded --------------------------------------------------------------


def launcher_crashes(fleet: Fleet, launcher: Launcher) -> Child:
    child = launcher.spawn("Zeta", "SLEEP 0.1\nSAY ready", interactive=True)
    fleet.wait_for(lambda: launcher.written("seen"), what="the run to be noted")
    launcher.crash()
    fleet.wait_for(lambda: "ready" in str(Session(child.session).entries), what="the child's turn to end")
    fleet.herdr.run(launcher.pane, f"pi --session '{launcher.file}'")
    return child


def herdr_restarts(fleet: Fleet, launcher: Launcher) -> Child:
    child = launcher.spawn("Beta", "SLEEP 300\nSAY never said")
    return hung_up(fleet, launcher, child)


def herdr_restarts_under_a_worktree(fleet: Fleet, launcher: Launcher) -> Child:
    child = launcher.spawn("Delta", "SLEEP 300\nSAY never said", worktree={"branch": "delta"})
    return hung_up(fleet, launcher, child)


def herdr_restarts_twice_under_a_worktree(fleet: Fleet, launcher: Launcher) -> Child:
    child = launcher.spawn("Delta", "SLEEP 300\nSAY never said", worktree={"branch": "delta"})
    fleet.at_work(launcher, child)
    fleet.restart_herdr()
    fleet.wait_for(lambda: launcher.written("resumed"), what="the first handing over")
    fleet.at_work(launcher, child, turn=2)
    fleet.restart_herdr()
    return child


def herdr_forgets_the_pane(fleet: Fleet, launcher: Launcher) -> Child:
    fleet.wait_for(fleet.is_saved, what="herdr to save the launcher's pane")
    saved = fleet.saved
    child = launcher.spawn("Kappa", "SLEEP 300\nSAY never said")
    fleet.at_work(launcher, child)
    fleet.restart_herdr(kill=True, as_saved=saved)
    return child


def hung_up(fleet: Fleet, launcher: Launcher, child: Child) -> Child:
    fleet.wait_for(lambda: Session(child.session).tool_calls("bash"), what="the child's tool call")
    fleet.wait_for(lambda: launcher.written("seen"), what="the run to be noted")
    fleet.wait_for(lambda: launcher.is_idle, what="the launcher to be idle")
    fleet.restart_herdr()
    return child


@dataclass(frozen=True)
class Story:
    """`strand`: up to where the run is stranded. `strandings`: how often it is, each to be recovered by that `config`."""

    strand: Callable[[Fleet, Launcher], Child]
    victims: tuple[str, ...] = (STRAWBOSS, STRAWBOSS, PI)
    config: str = ""
    strandings: int = 1


WITH_HERDR = (STRAWBOSS, STRAWBOSS, PI, HERDR)
STORIES = (
    Story(launcher_crashes),
    Story(herdr_restarts, WITH_HERDR),
    Story(herdr_restarts_under_a_worktree, WITH_HERDR),
    Story(herdr_restarts_twice_under_a_worktree, config="resumed: recover\n", strandings=2),
    Story(herdr_forgets_the_pane),
)
ROUNDS = int(os.environ.get("STRAWBOSS_TEST_ROUNDS", len(STORIES)))


# -- the judge -------------------------------------------------------------------------------------------------


class Judge:
    """What the neighbours' logs say of one run."""

    def __init__(self, fleet: Fleet, launcher: Launcher, child: Child, strandings: int) -> None:
        self._strandings = strandings
        self._fleet, self._launcher, self._child = fleet, launcher, child
        self.keys = Counter(next(iter(key)) for key in launcher.written())
        self.child_pane = next(key["pane"] for key in launcher.written("seen") if key["seen"] == child.run)

    def sent(self, words: str) -> int:
        """Texts of strawboss that the broker was given for this child."""
        assert self._fleet.broker
        frames = self._fleet.broker.frames("send", session="straw-boss")
        texts = [one["frame"]["message"]["content"]["text"] for one in frames if one["dir"] == "to-broker"]
        return sum(words in text and self._child.run in text for text in texts)

    @property
    def closes(self) -> list[str]:
        """The panes strawboss asked herdr to close."""
        own = self._fleet.own_requests()
        return [one["params"]["pane_id"] for one in own if one["method"] == "pane.close"]

    @property
    def resumes(self) -> int:
        """Times the subagents extension started the run again."""
        return len(list(self._child.script.parent.glob("*-resume-*.sh")))

    @property
    def messages(self) -> int:
        told = self._launcher.messages("straw-boss")
        return sum(self._child.run in one["details"]["runs"] for one in told)

    @property
    def give_ups(self) -> list[str]:
        """Warnings that are about giving up."""
        return [one for one in self._launcher.notices if any(words in one for words in GIVE_UPS)]

    def wrongs(self) -> list[str]:
        """What may never be, wherever anything was killed."""
        closes_taken_back = self.keys["unclosed"]
        rules = {
            "asked for its report more than once": self.sent("It no longer tracks your run") > 1,
            "told to go on more than once": self.sent("your last turn was cut off") > self._strandings,
            "closed more than once": len(self.closes) > 1 + closes_taken_back,
            "closed another pane": set(self.closes) - {self.child_pane} != set(),
            "resumed more than once": self.resumes > 1,
            "the launcher told more than once": self.messages > self._strandings,
            "more than one warning": len(self.give_ups) > 1,
            "asked without its key": self.sent("It no longer tracks your run") > self.keys["nudged"],
            "told to go on without its key": self.sent("your last turn was cut off") > self.keys["continued"],
            "closed without its key": len(self.closes) > self.keys["closing"],
            "a key for good twice": any(self.keys[key] > 1 for key in END_KEYS),
            "handed over more than once": self.keys["resumed"] > self._strandings,
            "given up without a warning": bool(self.keys["gaveUp"]) and not self.give_ups,
            "told without a message": self.keys["resumed"] > self.messages,
            "typed into a pane": any(
                one["method"].startswith("pane.send") for one in self._fleet.own_requests()
            ),
        }
        return [wrong for wrong, holds in rules.items() if holds]


@needs_logs
@pytest.mark.parametrize("number", range(ROUNDS))
def test_whatever_is_killed_whenever_a_stranded_run_comes_to_its_end_and_nothing_happens_twice(
    number: int,
) -> None:
    story = STORIES[number % len(STORIES)]
    with Fleet(config=story.config, script=cut_off(story.strandings)) as fleet:
        is_told_once_a_stranding(fleet, story, number)
        sys.stdout.write(fleet.story())  # pytest shows it with a failure


def is_told_once_a_stranding(fleet: Fleet, story: Story, number: int) -> None:
    launcher = fleet.launch()
    child = story.strand(fleet, launcher)
    random = Random(f"{SEED} {number}")
    killer = Killer(fleet, launcher, child, random, story.strandings)
    for _ in range(KILLS):
        killer.strike(random.choice(story.victims))
    name = story.strand.__name__
    sys.stdout.write(f"seed {SEED}, round {number}: {name}, killed {killer.kills}\n")
    fleet.wait_for(lambda: killer.is_over, what=f"the run's end after {killer.kills}")
    launcher.let_it_look()
    killer.kill(STRAWBOSS)  # the next one knows what the session file says, and nothing else
    launcher.let_it_look()
    wrongs = Judge(fleet, launcher, child, story.strandings).wrongs()
    assert not wrongs, f"{wrongs} after {killer.kills}, seed {SEED}, round {number}"
