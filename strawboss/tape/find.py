"""Which tape has a run, and how it looked there at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from strawboss.recovery.explain import Explanation
from strawboss.recovery.memory import RunReport
from strawboss.tape.last import LastLook
from strawboss.tape.look_interface import NotARecordingError
from strawboss.tape.play import explain_last
from strawboss.tape.reader import read_tape
from strawboss.tape.shelf import segments_of
from strawboss.tape.taped_look import TapedLook


@dataclass(frozen=True, slots=True)
class Seen:
    """A run as a look saw it: what it said of it, and each condition as things stood before it did anything."""

    look: TapedLook
    report: RunReport
    conditions: Explanation


def knowing(run: str, launchers: Iterable[LastLook]) -> list[LastLook]:
    """Those whose last look knew that run."""
    return [last for last in launchers if any(one.run == run for one in last.runs)]


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
