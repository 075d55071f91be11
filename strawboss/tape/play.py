"""Looks one after another, as one process would have taken them, and what came of it."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from strawboss.recovery.commands import ClosePane, Command, WriteKey
from strawboss.recovery.evidence import Clock
from strawboss.recovery.explain import Explanation, explain
from strawboss.recovery.keys import CONTINUED, GAVE_UP, NUDGED, RESUMED
from strawboss.recovery.look import look_at_runs
from strawboss.recovery.memory import Look, Memory, RunReport
from strawboss.recovery.settings import LOOK_SECONDS, Settings
from strawboss.tape.recorded_look import Evidence
from strawboss.tape.world import World

T = TypeVar("T")
Done = tuple[tuple[Command, Any], ...]


@dataclass(frozen=True, slots=True)
class Told:
    """One look of the story: what was seen of each run, and the effects asked for with their answers."""

    number: int
    label: str
    runs: tuple[RunReport, ...]
    done: Done


@dataclass(frozen=True, slots=True)
class Summary:
    """Run ids, and pane ids for `closed`. `untouched`: every other run and its reason at the last look."""

    nudged: list[str] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)
    continued: list[str] = field(default_factory=list)
    gave_up: list[str] = field(default_factory=list)
    untouched: dict[str, str] = field(default_factory=dict)


def play(looks: Sequence[Evidence], settings: Settings) -> tuple[list[Told], World]:
    """Take every look 15 s apart. Raises IndexError without looks."""
    world, memory, story = World(looks[0]), Memory(), []
    began = looks[0].recorded_at or 0.0
    for number, evidence in enumerate(looks, 1):
        world.evidence, world.done = evidence, []
        now = evidence.clock or Clock(began + number * LOOK_SECONDS, number * LOOK_SECONDS)
        world.monotonic = now.monotonic
        memory = Memory() if evidence.session_start else memory
        look: Look = drive(look_at_runs(evidence.launcher, settings, memory, now), world)
        memory = look.memory
        story.append(Told(number, evidence.label, look.runs, tuple(world.done)))
    return story, world


def explain_last(looks: Sequence[Evidence], settings: Settings, run: str) -> Explanation:
    """Every condition of that run, as things stand at the last look, after the others were played."""
    _, world = play(looks, settings)
    return drive(explain(looks[-1].launcher, settings, run), world)


def drive(generator: Generator[Command, Any, T], world: World) -> T:
    """Run a check to its end in that world."""
    answer = None
    while True:
        try:
            command = generator.send(answer)
        except StopIteration as stop:
            result: T = stop.value
            return result
        answer = world.answer(command)


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
