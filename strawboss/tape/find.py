"""Which tape has a run, and how it looked there at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from strawboss.recovery.explain import Explanation
from strawboss.recovery.memory import RunReport
from strawboss.tape.last import LastLook, last_looks
from strawboss.tape.play import explain_last
from strawboss.tape.reader import read_tape
from strawboss.tape.recorded_look import NotARecordingError
from strawboss.tape.shelf import segments_of
from strawboss.tape.taped_look import TapedLook

NEAR = 5


@dataclass(frozen=True, slots=True)
class Seen:
    """A run as a look saw it: what it said of it, and each condition as things stood before it did anything."""

    look: TapedLook
    report: RunReport
    conditions: Explanation


def launchers_of(shelf: Path, run: str, session: str | None = None) -> list[LastLook]:
    """The sessions whose last look knew that run; `session`: only that one."""
    return [
        last
        for last in last_looks(shelf)
        if session in (None, last.launcher.id) and any(one.run == run for one in last.runs)
    ]


def near_runs(shelf: Path, run: str) -> list[str]:
    """The ids most like that one, those that begin like it first."""
    known = sorted({one.run for last in last_looks(shelf) for one in last.runs})
    begin = [one for one in known if run and one.startswith(run)]
    return list(dict.fromkeys([*begin, *get_close_matches(run, known, n=NEAR)]))[:NEAR]


def see(session: Path, run: str, at: float | None = None) -> Seen | None:
    """The last look at that run, or the last before that time (epoch seconds); None where there is none."""
    for look in _looks_back(session, at):
        report = next((one for one in look.reported if one.run == run), None)
        if report is not None:
            return Seen(look, report, explain_last([look], run))
    return None


def _looks_back(session: Path, at: float | None) -> Iterator[TapedLook]:
    """The last look of each segment that is not after the time, the newest segment first."""
    for file in reversed(segments_of(session)):
        last = None
        try:
            for look in read_tape(file):
                if at is None or look.clock.wall <= at:
                    last = look
        except NotARecordingError:
            continue
        if last is not None:
            yield last
