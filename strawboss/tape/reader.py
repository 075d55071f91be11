"""Reads a tape: the looks of its segments, up to the last whole record of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from strawboss.recovery.evidence import Clock, Launcher
from strawboss.recovery.memory import Memory
from strawboss.recovery.settings import Settings
from strawboss.recovery.verdict import Unknown
from strawboss.tape.codec import NotReadableError, typed
from strawboss.tape.delta import changed
from strawboss.tape.lines import CARRIED, FORMAT, decode
from strawboss.tape.look_interface import NotARecordingError
from strawboss.tape.shelf import segments_of
from strawboss.tape.taped_look import Segment, Spoken, TapedLook, key_of

CARRIED_NAMES = frozenset(one.__name__ for one in CARRIED)
# What a line may be wrong in: it is torn, or not a line of a tape, or another version's.
FAULTS = (ValueError, TypeError, AttributeError, LookupError, OverflowError)
LAST_DATE = 2.5e11  # epoch seconds; no calendar goes much further


def read_session(session: Path) -> Iterator[TapedLook]:
    """All looks of a session's tape, oldest first; a segment that is gone or unreadable meanwhile is left out."""
    for file in segments_of(session):
        try:
            yield from read_tape(file)
        except NotARecordingError:
            continue


def read_tape(file: Path) -> Iterator[TapedLook]:
    """The looks of one file, which may hold several segments; raises NotARecordingError when it does not begin as one."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise NotARecordingError(f"{file}: {error.strerror}") from error
    yield from read_lines(file, whole_lines(content))


def whole_lines(content: bytes) -> list[bytes]:
    """What is behind the last newline is torn, or is being written."""
    return content.split(b"\n")[:-1]


def read_lines(file: Path, lines: Iterable[bytes]) -> Iterator[TapedLook]:
    """Behind a line that is no record nothing is read until another segment begins."""
    reading: Reading | None = None
    for number, line in enumerate(lines):
        looks: list[TapedLook] = []
        try:
            said = decode(line)
            if isinstance(said, dict) and "format" in said:
                looks, reading = _left_of(reading), Reading(_segment(file, said), said.get("known", []))
            elif reading is not None:
                looks = list(reading.take(said))
        except FAULTS as error:
            looks, reading = _left_of(reading), None
            if number == 0:
                raise NotARecordingError(f"{file}: not a tape: {error}") from error
        if number == 0 and reading is None:
            raise NotARecordingError(f"{file}: not a tape: it does not begin with a segment")
        yield from looks
    yield from _left_of(reading)


def _left_of(reading: Reading | None) -> list[TapedLook]:
    last = reading.last if reading else None
    return [] if last is None or last.ended else [last]


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
    """A segment so far: each line changes what is known. `last`: the look under way, or the last that ended."""

    def __init__(self, segment: Segment, known: list[Any]) -> None:
        self._known: dict[str, Any] = {key_of(spoken): answer for spoken, answer in known}
        self._reports: Mapping[str, Any] = {}
        self._asked: list[Spoken] = []
        self._first_answers: set[str] = set()
        self._carried = dict(self._known)
        self._looks = 0
        self._is_quiet = False
        self.last = TapedLook(segment, Clock(0, 0), ended=True)

    def take(self, line: Any) -> Iterator[TapedLook]:
        """The looks that have ended with this line: its own, and one that was given up before it."""
        if isinstance(line, (int, list)):
            yield self._quiet(line)
            return
        if "at" in line:
            if not self.last.ended:
                yield self.last
            wall, monotonic = line["at"]
            self._begin(_clock(float(wall), float(monotonic)))
        elif self.last.ended:
            raise NotReadableError("a look goes on that has ended")
        self._go_on(line)
        if self.last.ended:
            yield self.last

    def _begin(self, clock: Clock) -> None:
        self._first_answers, self._is_quiet = set(), False
        self.last = TapedLook(
            self.last.segment,
            clock,
            before=dict(self._carried),
            reports=self._reports,
            is_first=self._looks == 0,
        )
        self._looks += 1

    def _go_on(self, line: dict[str, Any]) -> None:
        self._asked = changed(self._asked, line.get("asked"))
        ended = "runs" in line
        answers, before = list(self.last.answers), dict(self.last.before)
        answered = len(self._asked) - (0 if ended else 1)
        for place in range(len(answers), answered):
            answers.append(self._answer(place, line.get("answers", {}), before))
        if ended:
            self._reports = changed(dict(self._reports), line["runs"])
        self.last = replace(
            self.last,
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
        if self._asked[place][0] in CARRIED_NAMES:
            self._carried[key] = answer
        return answer

    def _quiet(self, line: int | list[int]) -> TapedLook:
        wall, monotonic = line if isinstance(line, list) else (line, line)
        last, every = self.last, self.last.segment.every
        clock = _clock(_later(last.clock.wall, every + wall), _later(last.clock.monotonic, every + monotonic))
        if self._is_quiet:
            self.last = replace(last, clock=clock)
        else:
            self._begin(clock)
            self._go_on({"runs": {}})
            self._is_quiet = True
        return self.last


def _clock(wall: float, monotonic: float) -> Clock:
    """Raises NotReadableError for what no clock has shown: a tape may come from anybody."""
    if not (0 <= wall < LAST_DATE and abs(monotonic) < LAST_DATE):
        raise NotReadableError(f"a look at no time: {wall}, {monotonic}")
    return Clock(wall, monotonic)


def _later(seconds: float, milliseconds: int) -> float:
    return (round(seconds * 1000) + milliseconds) / 1000
