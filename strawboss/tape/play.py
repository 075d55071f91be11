"""Looks one after another, as one process would have taken them, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from strawboss.recovery.commands import ClosePane, Command, Effect, Pause, WriteKey
from strawboss.recovery.evidence import Clock, Launcher
from strawboss.recovery.explain import Explanation, explain
from strawboss.recovery.keys import CONTINUED, GAVE_UP, NUDGED, RESUMED
from strawboss.recovery.memory import Memory, RunReport
from strawboss.recovery.observing import take_look
from strawboss.recovery.settings import LOOK_SECONDS, Settings
from strawboss.tape.drive import drive
from strawboss.tape.exact import Difference, EndedError, Exact, differences
from strawboss.tape.look_interface import Evidence
from strawboss.tape.look_lines import Steps
from strawboss.tape.memo import Memo
from strawboss.tape.taped_look import TapedLook
from strawboss.tape.world import World

Done = tuple[tuple[Command, Any], ...]


@dataclass(frozen=True, slots=True)
class Taking:
    """All that a look is given but its answers. `begins`: by another process, or another segment of a tape."""

    launcher: Launcher
    settings: Settings
    memory: Memory
    now: Clock
    begins: bool


Record = Callable[[Steps, Taking], Steps]
Under = Callable[[Launcher, Settings], tuple[Launcher, Settings]]  # what a look is to be taken with instead


@dataclass(frozen=True, slots=True)
class Told:
    """One look of the story: what was seen of each run, and the effects asked for with their answers.

    `ended`: False where the process that took it ended in it. `differs`: where it decides otherwise than its tape.
    """

    number: int
    label: str
    runs: tuple[RunReport, ...]
    done: Done
    ended: bool = True
    differs: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """Run ids, and pane ids for `closed`. `untouched`: every other run and its reason at the last look."""

    nudged: list[str] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)
    continued: list[str] = field(default_factory=list)
    gave_up: list[str] = field(default_factory=list)
    untouched: dict[str, str] = field(default_factory=dict)


def play(
    looks: Iterable[Evidence], settings: Settings | Under | None = None, record: Record | None = None
) -> tuple[list[Told], World]:
    """Take every look, `LOOK_SECONDS` apart where no clock is recorded. Raises StopIteration without looks.

    Effects are played on the evidence; those of a tape are known. With `settings`, all of them or a change of those that
    each look was taken with, a tape is evidence like any other. `record` writes the looks down on their way.
    """
    given = iter(looks)
    first = next(given)
    player = Player(first, settings, record)
    return [player.take(first), *map(player.take, given)], player.world


class Player:
    def __init__(self, first: Evidence, settings: Settings | Under | None, record: Record | None) -> None:
        self.world = World(first)
        self._settings, self._record = settings, record
        self.memory = Memory()
        self._began = first.recorded_at or 0.0
        self._number = 0
        self._answers = Memo[Any]()
        self._judged: tuple[Any, Any, tuple[Difference, ...]] = (None, None, ())

    def take(self, evidence: Evidence) -> Told:
        self._number += 1
        now = evidence.clock or self._due()
        self.world.turn_to(evidence, now)
        begins_with = evidence.begins_with
        taking = Taking(
            *_taken_with(evidence, self._settings),
            self.memory if begins_with is None else begins_with,
            now,
            begins=begins_with is not None or self._number == 1,
        )
        self.memory = taking.memory
        steps: Steps = take_look(taking.launcher, taking.settings, taking.memory, now)
        steps = self._record(steps, taking) if self._record else steps
        taped = evidence.taped
        return (
            self._as_taped(taped, steps)
            if taped is not None and self._settings is None
            else self._play(evidence, steps)
        )

    def _due(self) -> Clock:
        return Clock(self._began + self._number * LOOK_SECONDS, self._number * LOOK_SECONDS)

    def _play(self, evidence: Evidence, steps: Steps) -> Told:
        look = drive(steps, self.world.answer)
        self.memory, taped = look.memory, evidence.taped
        differs = self._differences(taped, look.runs) if taped and taped.ended else ()
        return Told(self._number, evidence.label, look.runs, tuple(self.world.done), differs=differs)

    def _as_taped(self, taped: TapedLook, steps: Steps) -> Told:
        exact, done = Exact(taped, self._answers), list[tuple[Command, Any]]()
        try:
            look = drive(steps, lambda command: _noted(done, command, exact.answer(command)))
        except EndedError:
            return Told(self._number, taped.label, taped.reported, tuple(done), ended=False)
        exact.end()
        self.memory = look.memory
        asked = (exact.differs,) if exact.differs else ()
        said = self._differences(taped, look.runs) if taped.ended else ()
        return Told(self._number, taped.label, look.runs, tuple(done), differs=asked + said)

    def _differences(self, taped: TapedLook, runs: tuple[RunReport, ...]) -> tuple[Difference, ...]:
        """Once for all looks that say the same."""
        reports, said, found = self._judged
        if reports is not taped.reports or said != runs:
            found = tuple(differences(taped, runs))
        self._judged = (taped.reports, runs, found)
        return found


def _noted(done: list[tuple[Command, Any]], command: Command, answer: Any) -> Any:
    if isinstance(command, Effect) and not isinstance(command, Pause):
        done.append((command, answer))
    return answer


def _taken_with(look: Evidence, settings: Settings | Under | None) -> tuple[Launcher, Settings]:
    if settings is None or isinstance(settings, Settings):
        return look.launcher, settings or look.settings
    return settings(look.launcher, look.settings)


def explain_last(
    looks: Sequence[Evidence], run: str, settings: Settings | Under | None = None
) -> Explanation:
    """Every condition of that run at the last look, as things stood before it did anything."""
    last = looks[-1]
    if last.taped is not None and settings is None:
        return explain_look(last, World(last), run, settings)
    _, world = play(looks[:-1], settings) if len(looks) > 1 else ((), World(last))
    world.turn_to(last, Clock(0, 0))
    return explain_look(last, world, run, settings)


def explain_look(look: Evidence, world: World, run: str, settings: Settings | Under | None) -> Explanation:
    return drive(explain(*_taken_with(look, settings), run), world.answer)


def summarize(story: Sequence[Told]) -> Summary:
    """Who was acted on, from the keys written and the panes closed; why the others were not."""
    done = [command for told in story for command, _ in told.done]
    by_key = {
        key: _in_order(one.run for one in done if isinstance(one, WriteKey) and one.key == key)
        for key in (NUDGED, RESUMED, CONTINUED, GAVE_UP)
    }
    touched = {run for runs in by_key.values() for run in runs}
    last = {report.run: report for told in story for report in told.runs}
    return Summary(
        by_key[NUDGED],
        _in_order(one.pane for one in done if isinstance(one, ClosePane)),
        by_key[RESUMED],
        by_key[CONTINUED],
        by_key[GAVE_UP],
        {run: reason(report) for run, report in last.items() if run not in touched},
    )


def reason(report: RunReport) -> str:
    """Why nothing was done for a run, in one line."""
    if report.obstacle is None:
        return report.state
    prefix = f"{report.state}: " if report.state == "given up" else ""
    return prefix + str(report.obstacle)


def _in_order(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
