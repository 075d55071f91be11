"""Writes the looks of one session start down as they are taken. A tape that cannot be written ends; the look goes on."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from strawboss.recovery import commands as c
from strawboss.recovery.commands import Command
from strawboss.recovery.evidence import Clock, Launcher
from strawboss.recovery.memory import Look, Memory, RunReport
from strawboss.recovery.settings import Settings
from strawboss.system.files import make_private_directory
from strawboss.tape.codec import plain
from strawboss.tape.delta import NOTHING, change
from strawboss.tape.lines import FORMAT, READS, VERSION, encode, milliseconds, spoken
from strawboss.tape.shelf import LAST, Limits, append, create_segment, prune, replace_unsynced

# What a defect of the tape, or a value it does not know, may raise. An end of the process is none of these.
OWN_FAULTS = (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError)
# What a segment must know without having asked: the rest is asked again before anything rests on it.
CARRIED = (c.ReadRegistry, c.ReadRuns, c.ReadRun, c.ReadTranscript)
Steps = Generator[Command, Any, Look]


@dataclass(slots=True)
class Written:
    """What a reader of the segment knows by now; all that is written are changes to it."""

    asked: tuple[Command, ...] = ()
    known: dict[Command, Any] = field(default_factory=dict)
    runs: tuple[RunReport, ...] | None = None  # None: this segment has no look yet
    clock: Clock | None = None
    bytes: int = 0


class Tape:
    """`shelf`: the directory of all tapes. `complain` is told once why the tape ended, if it did."""

    def __init__(
        self,
        shelf: Path,
        session: str,
        limits: Limits,
        launcher: Launcher,
        settings: Settings,
        complain: Callable[[str], None],
    ) -> None:
        self._shelf, self._session, self._limits = shelf, shelf / session, limits
        self._launcher, self._settings, self._complain = launcher, settings, complain
        self._every = milliseconds(settings.interval)
        self._segment: Path | None = None
        self._ended = limits.session == 0
        self._written = Written()
        self._asked: list[Command] = []
        self._answers: list[Any] = []
        self._flushed = 0
        self._began: Clock | None = None
        self._continues = False

    def record(self, steps: Steps, memory: Memory, now: Clock) -> Steps:
        """The same look, written down on its way: before each of its effects, and at its end."""
        if self._ended:
            return (yield from steps)
        self._guard(lambda: self._begin(memory, now))
        look = yield from self._listening(steps)
        self._guard(lambda: self._end(look))
        return look

    def _listening(self, steps: Steps) -> Steps:
        answer: Any = None
        while True:
            try:
                command = steps.send(answer)
            except StopIteration as end:
                look: Look = end.value
                return look
            self._asked.append(command)
            if isinstance(command, c.Effect) and not isinstance(command, c.Pause):
                self._guard(self._flush)
            answer = yield command
            self._answers.append(answer)

    def _guard(self, write: Callable[[], None]) -> None:
        if self._ended:
            return
        try:
            write()
        except OWN_FAULTS as fault:
            self._ended = True
            self._complain(
                (isinstance(fault, OSError) and fault.strerror) or f"{type(fault).__name__}: {fault}"
            )

    # -- a look ------------------------------------------------------------------------------------------------

    def _begin(self, memory: Memory, now: Clock) -> None:
        """A look that was given up half way is forgotten, but for the lines it has already written."""
        self._asked, self._answers, self._flushed = [], [], 0
        if self._continues:
            self._written.clock = None
        self._began, self._continues = now, False
        if self._written.bytes > self._limits.segment or self._segment is None or not self._segment.exists():
            self._begin_segment(memory)

    def _end(self, look: Look) -> None:
        written = self._written
        news = self._news()
        if not news and look.runs == written.runs and self._is_due():
            self._put(self._quiet_line())
        else:
            known = {} if written.runs is None else {one.run: one for one in written.runs}
            runs = {one.run: one for one in look.runs}
            self._put({**self._start(), **news, "runs": change(known, runs) or {}})
            self._remember(look)
        written.clock, self._continues = self._began, False

    def _remember(self, look: Look) -> None:
        written = self._written
        if look.runs != written.runs:
            last = {"launcher": self._launcher, "runs": look.runs}
            replace_unsynced(self._session / LAST, msgspec.json.encode(last))
        written.runs = look.runs
        tails = [one for one in written.known if isinstance(one, c.ReadTail) and one not in self._asked]
        for one in tails:
            del written.known[one]

    def _flush(self) -> None:
        self._put({**self._start(), **self._news()})
        self._continues = True

    def _start(self) -> dict[str, Any]:
        assert self._began is not None
        return {} if self._continues else {"at": [self._began.wall, self._began.monotonic]}

    def _news(self) -> dict[str, Any]:
        """What was asked and answered since the last line, as changes; from here on it counts as written."""
        news: dict[str, Any] = {}
        asked = tuple(self._asked)
        if asked != self._written.asked:
            kept = _common(self._written.asked, asked)
            news["asked"] = [kept, [spoken(command) for command in asked[kept:]]]
            self._written.asked = asked
        answers = {
            str(place): one
            for place in range(self._flushed, len(self._answers))
            if (one := self._change(asked[place], self._answers[place])) is not None
        }
        self._flushed = len(self._answers)
        return {**news, "answers": answers} if answers else news

    def _change(self, command: Command, answer: Any) -> Any:
        if not isinstance(command, READS):
            return [plain(answer)]
        known = self._written.known.get(command, NOTHING)
        self._written.known[command] = answer
        return change(known, answer)

    # -- quiet looks -------------------------------------------------------------------------------------------

    def _is_due(self) -> bool:
        """Whether a few milliseconds say when this look was: not the first one of a segment, clocks that fit."""
        now, before = self._began, self._written.clock
        return (
            not self._continues
            and before is not None
            and now is not None
            and all(
                milliseconds(one) / 1000 == one
                for one in (now.wall, now.monotonic, before.wall, before.monotonic)
            )
        )

    def _quiet_line(self) -> int | list[int]:
        now, before = self._began, self._written.clock
        assert now is not None
        assert before is not None
        wall, monotonic = (
            milliseconds(after) - milliseconds(earlier) - self._every
            for after, earlier in ((now.wall, before.wall), (now.monotonic, before.monotonic))
        )
        return wall if wall == monotonic else [wall, monotonic]

    # -- files -------------------------------------------------------------------------------------------------

    def _begin_segment(self, memory: Memory) -> None:
        make_private_directory(self._shelf)
        prune(self._shelf, self._session, self._limits)
        self._segment = create_segment(self._session)
        known: dict[Command, Any] = {
            one: answer for one, answer in self._written.known.items() if isinstance(one, CARRIED)
        }
        self._written = Written(known=known)
        self._put(
            {
                "format": FORMAT,
                "strawboss": VERSION,
                "every": self._every,
                "launcher": plain(self._launcher),
                "settings": plain(self._settings),
                "memory": plain(memory),
                "known": [[spoken(one), plain(answer)] for one, answer in known.items()],
            }
        )
        if self._written.bytes > self._limits.session:
            raise ValueError("what a segment begins with is larger than a whole tape may be")

    def _put(self, line: Any) -> None:
        content = encode(line)
        assert self._segment is not None
        append(self._segment, content)
        self._written.bytes += len(content)


def _common(old: tuple[Command, ...], new: tuple[Command, ...]) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((place for place, (before, after) in pairs if before != after), min(len(old), len(new)))
