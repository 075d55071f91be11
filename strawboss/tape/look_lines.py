"""The lines of a tape, made while looks are taken; whoever keeps them (a file, a list) is told each as it is made."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from strawboss import __version__
from strawboss.recovery import commands as c
from strawboss.recovery.commands import Command
from strawboss.recovery.evidence import Clock, Launcher
from strawboss.recovery.memory import Look, Memory, RunReport
from strawboss.recovery.settings import Settings
from strawboss.tape.codec import plain
from strawboss.tape.delta import NOTHING, change
from strawboss.tape.lines import CARRIED, FORMAT, READS, milliseconds, spoken

Steps = Generator[Command, Any, Look]
Put = Callable[[Any], None]


@dataclass(slots=True)
class Written:
    """What a reader of the segment knows by now; all that is written are changes to it."""

    asked: tuple[Command, ...] = ()
    known: dict[Command, Any] = field(default_factory=dict)
    runs: tuple[RunReport, ...] | None = None  # None: this segment has no look yet
    clock: Clock | None = None


# Effects that reach somebody: they may be the last thing that this process does.
LEAVING = frozenset(get_args(c.Effect)) - {c.Pause}


@dataclass(slots=True)
class UnderWay:
    """The look being taken. `flushed`: so many of its answers are written; `begun`: so is its beginning."""

    now: Clock
    asked: list[Command] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)
    flushed: int = 0
    begun: bool = False


class Recorder:
    """Begin a segment, then record looks; or, of each: begin, append to `under_way`, flush before effects, end."""

    def __init__(self, put: Put) -> None:
        self._put = put
        self._written = Written()
        self._every = 0
        self._look = UnderWay(Clock(0, 0))

    def begin_segment(self, launcher: Launcher, settings: Settings, memory: Memory) -> None:
        self._put(self.beginning(launcher, settings, memory))

    def beginning(self, launcher: Launcher, settings: Settings, memory: Memory) -> dict[str, Any]:
        """What a segment begins with, to be put by the caller; what follows can be read without what went before."""
        known = {one: answer for one, answer in self._written.known.items() if type(one) in CARRIED}
        self._written, self._every = Written(known=known), milliseconds(settings.interval)
        return {
            "format": FORMAT,
            "strawboss": __version__,
            "every": self._every,
            "launcher": plain(launcher),
            "settings": plain(settings),
            "memory": plain(memory),
            "known": [[spoken(one), plain(answer)] for one, answer in known.items()],
        }

    def begin(self, now: Clock) -> None:
        """A look that was given up half way is forgotten, but for the lines it has already written."""
        if self._look.begun:
            self._written.clock = None
        self._look = UnderWay(now)

    def record(self, steps: Steps, now: Clock) -> Steps:
        """The same look, written down on its way."""
        self.begin(now)
        asked, answers = self.under_way()
        answer: Any = None
        while True:
            try:
                command = steps.send(answer)
            except StopIteration as end:
                look: Look = end.value
                self.end(look)
                return look
            asked.append(command)
            if type(command) in LEAVING:
                self.flush()
            answer = yield command
            answers.append(answer)

    def under_way(self) -> tuple[list[Command], list[Any]]:
        """The commands and answers of the look that was begun, to be appended to: this is done for every command."""
        return self._look.asked, self._look.answers

    def flush(self) -> None:
        """An effect is about to leave: all that led to it is written first."""
        look = self._look
        self._put({**self._start(look), **self._news(look)})
        look.begun = True

    def end(self, result: Look) -> None:
        look, written = self._look, self._written
        begun, news = look.begun, self._news(look)
        if not begun and not news and result.runs == written.runs and self._is_due(look.now):
            self._put(self._quiet_line(look.now))
        else:
            self._put(
                {
                    **self._start(look),
                    **news,
                    "runs": change(_by_run(written.runs), _by_run(result.runs)) or {},
                }
            )
            self._forget_tails(look)
        written.runs, written.clock, look.begun = result.runs, look.now, False

    def _start(self, look: UnderWay) -> dict[str, Any]:
        return {} if look.begun else {"at": [look.now.wall, look.now.monotonic]}

    def _news(self, look: UnderWay) -> dict[str, Any]:
        """What was asked and answered since the last line, as changes; from here on it counts as written."""
        news: dict[str, Any] = {}
        asked = tuple(look.asked)
        if asked != self._written.asked:
            kept = _common(self._written.asked, asked)
            news["asked"] = [kept, [spoken(command) for command in asked[kept:]]]
            self._written.asked = asked
        answers = {
            str(place): one
            for place in range(look.flushed, len(look.answers))
            if (one := self._change(asked[place], look.answers[place])) is not None
        }
        look.flushed = len(look.answers)
        return {**news, "answers": answers} if answers else news

    def _change(self, command: Command, answer: Any) -> Any:
        if type(command) not in READS:
            return [plain(answer)]
        known = self._written.known.get(command, NOTHING)
        if known is answer:
            return None
        self._written.known[command] = answer
        return change(known, answer)

    def _forget_tails(self, look: UnderWay) -> None:
        """The end of a session file is large, and read again before anything rests on it."""
        known = self._written.known
        asked = {one for one in look.asked if isinstance(one, c.ReadTail)}
        for one in [one for one in known if isinstance(one, c.ReadTail) and one not in asked]:
            del known[one]

    def _is_due(self, now: Clock) -> bool:
        """Whether a few milliseconds say when this look was: not the first one of a segment, clocks that fit."""
        before = self._written.clock
        return before is not None and all(
            milliseconds(one) / 1000 == one
            for one in (now.wall, now.monotonic, before.wall, before.monotonic)
        )

    def _quiet_line(self, now: Clock) -> int | list[int]:
        before = self._written.clock
        assert before is not None
        wall = milliseconds(now.wall) - milliseconds(before.wall) - self._every
        monotonic = milliseconds(now.monotonic) - milliseconds(before.monotonic) - self._every
        return wall if wall == monotonic else [wall, monotonic]


def _by_run(runs: tuple[RunReport, ...] | None) -> Mapping[str, RunReport]:
    return {one.run: one for one in runs or ()}


def _common(old: tuple[Command, ...], new: tuple[Command, ...]) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((place for place, (before, after) in pairs if before != after), min(len(old), len(new)))
