"""Reads a tape: the looks of its segments, up to the last whole record of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from strawboss.recovery.evidence import Clock, Launcher
from strawboss.recovery.memory import Memory, RunReport
from strawboss.recovery.settings import Settings
from strawboss.recovery.verdict import Unknown
from strawboss.tape.codec import NotReadableError, typed
from strawboss.tape.delta import changed
from strawboss.tape.lines import ANSWERS, FORMAT, decode
from strawboss.tape.recorded_look import NotARecordingError
from strawboss.tape.shelf import segments_of

Spoken = list[Any]


@dataclass(frozen=True, slots=True)
class Segment:
    """What a segment begins with. `memory`: Unknown where this version cannot read it; a look then begins with none."""

    file: Path
    launcher: Launcher
    settings: Settings
    memory: Memory | Unknown
    every: int  # milliseconds between two looks that are due
    strawboss: str = ""


@dataclass(frozen=True, slots=True)
class TapedLook:
    """One look. `asked`: its commands, `answers` theirs, as plain data; the last command may have none.

    `before`: what was known before it did anything, by `key_of` the command; `reports`: what it said of each run, or
    the look before it where it has not `ended`, because the process did. `is_first`: of its segment.
    """

    segment: Segment
    clock: Clock
    asked: tuple[Spoken, ...] = ()
    answers: tuple[Any, ...] = ()
    before: Mapping[str, Any] = field(default_factory=dict)
    reports: Mapping[str, Any] = field(default_factory=dict)
    ended: bool = False
    is_first: bool = False

    def known(self, name: str, **members: object) -> Any:
        """The answer to a command before anything was done, as the core takes it."""
        spoken = [name, members] if members else [name]
        key = key_of(spoken)
        if key not in self.before:
            return Unknown("it was not asked for")
        return answer_of(spoken, self.before[key])

    @property
    def runs(self) -> tuple[RunReport, ...]:
        """Raises NotReadableError for what another version reports."""
        return tuple(typed(one, RunReport) for one in self.reports.values())


def key_of(spoken: Spoken) -> str:
    return repr(spoken)


def answer_of(spoken: Spoken, answer: Any) -> Any:
    """An answer as the core takes it; Unknown for one that this version cannot read."""
    shape = ANSWERS.get(str(spoken[0]))
    try:
        return typed(answer, shape)
    except NotReadableError as error:
        return Unknown(f"the tape has an answer that cannot be read: {error}")


def read_session(session: Path) -> Iterator[TapedLook]:
    """All looks of a session's tape, oldest first; a segment that is gone or unreadable meanwhile is left out."""
    for file in segments_of(session):
        try:
            yield from read_segment(file)
        except NotARecordingError:
            continue


def read_segment(file: Path) -> Iterator[TapedLook]:
    """The looks of one segment; raises NotARecordingError when it does not begin as one."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise NotARecordingError(f"{file}: {error.strerror}") from error
    yield from read_lines(file, whole_lines(content))


def whole_lines(content: bytes) -> list[bytes]:
    """What is behind the last newline is torn, or is being written."""
    return content.split(b"\n")[:-1]


def read_lines(file: Path, lines: Iterable[bytes]) -> Iterator[TapedLook]:
    given = iter(lines)
    try:
        header = decode(next(given))
        reading = Reading(_segment(file, header))
        reading.know(header.get("known", []))
    except StopIteration:
        return
    except (ValueError, TypeError, AttributeError, LookupError) as error:
        raise NotARecordingError(f"{file}: not a tape: {error}") from error
    for line in given:
        try:
            looks = list(reading.take(decode(line)))
        except (ValueError, TypeError, AttributeError, LookupError):
            break
        yield from looks
    if (last := reading.unended()) is not None:
        yield last


def _segment(file: Path, header: Any) -> Segment:
    if header["format"] != FORMAT:
        raise NotReadableError(f"it has format {header['format']}, and this version reads {FORMAT}")
    return Segment(
        file,
        typed(header["launcher"], Launcher),
        typed(header["settings"], Settings),
        _memory(header["memory"]),
        typed(header["every"], int),
        str(header.get("strawboss", "")),
    )


def _memory(written: Any) -> Memory | Unknown:
    try:
        memory: Memory = typed(written, Memory)
    except NotReadableError as error:
        return Unknown(f"its memory is another version's: {error}")
    return memory


class Reading:
    """A segment so far: each line changes what is known."""

    def __init__(self, segment: Segment) -> None:
        self._known: dict[str, Any] = {}
        self._reports: Mapping[str, Any] = {}
        self._asked: list[Spoken] = []
        self._last = TapedLook(segment, Clock(0, 0), is_first=True, ended=True)
        self._looks = 0
        self._first_answers: set[str] = set()
        self._is_quiet = False

    def know(self, pairs: list[Any]) -> None:
        self._known = {key_of(spoken): answer for spoken, answer in pairs}

    def take(self, line: Any) -> Iterator[TapedLook]:
        """The looks that have ended with this line: its own, and one that was given up before it."""
        if isinstance(line, (int, list)):
            yield self._quiet(line)
            return
        if "at" in line:
            if not self._last.ended:
                yield self._last
            wall, monotonic = line["at"]
            self._begin(Clock(float(wall), float(monotonic)))
        elif self._last.ended:
            raise NotReadableError("a look goes on that has ended")
        self._go_on(line)
        if self._last.ended:
            yield self._last

    def unended(self) -> TapedLook | None:
        return None if self._last.ended else self._last

    def _begin(self, clock: Clock) -> None:
        self._first_answers, self._is_quiet = set(), False
        self._last = TapedLook(
            self._last.segment,
            clock,
            before=dict(self._known),
            reports=self._reports,
            is_first=self._looks == 0,
        )
        self._looks += 1

    def _go_on(self, line: dict[str, Any]) -> None:
        self._asked = changed(self._asked, line.get("asked"))
        ended = "runs" in line
        answers, before = list(self._last.answers), dict(self._last.before)
        answered = len(self._asked) - (0 if ended else 1)
        for place in range(len(answers), answered):
            answers.append(self._answer(place, line.get("answers", {}), before))
        if ended:
            self._reports = changed(dict(self._reports), line["runs"])
        self._last = replace(
            self._last,
            asked=tuple(self._asked),
            answers=tuple(answers),
            before=before,
            reports=self._reports,
            ended=ended,
        )

    def _answer(self, place: int, changes: Mapping[str, Any], before: dict[str, Any]) -> Any:
        """The first answer to a command in a look is what was known before anything was done."""
        key = key_of(self._asked[place])
        answer = changed(self._known.get(key), changes.get(str(place)))
        if key not in self._first_answers:
            before[key] = answer
        self._first_answers.add(key)
        self._known[key] = answer
        return answer

    def _quiet(self, line: int | list[int]) -> TapedLook:
        wall, monotonic = line if isinstance(line, list) else (line, line)
        last, every = self._last, self._last.segment.every
        clock = Clock(_later(last.clock.wall, every + wall), _later(last.clock.monotonic, every + monotonic))
        if self._is_quiet:
            self._last = replace(last, clock=clock)
        else:
            self._begin(clock)
            self._go_on({"runs": {}})
            self._is_quiet = True
        return self._last


def _later(seconds: float, milliseconds: int) -> float:
    return (round(seconds * 1000) + milliseconds) / 1000
