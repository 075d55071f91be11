"""One launcher as it was found, by its own last look or from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import overload

from strawboss.recovery.evidence import Launcher, Transcript
from strawboss.recovery.memory import RunReport
from strawboss.recovery.verdict import Unknown


class Watch(Enum):
    """Whether anybody looks at the launcher's runs.

    LOOKING: its process holds the lock and looks. HUNG: it holds the lock and does not look. UNSEEN: it holds the lock,
    and no look of it is known (it keeps no tape, or has just started). STOPPED: pi is there without its process.
    CLOSED: neither is.
    """

    LOOKING = "looking"
    HUNG = "hung"
    UNSEEN = "unseen"
    STOPPED = "stopped"
    CLOSED = "closed"


SETTLED = "settled"


class Reports(Sequence[RunReport]):
    """What a look said of every run. `open`: those that are not settled. The settled ones are often thousands, and nearly
    nobody asks for them: `read` gives the `settled` many of them.
    """

    def __init__(
        self, open_: Sequence[RunReport], settled: int, read: Callable[[], Sequence[RunReport]]
    ) -> None:
        self.open, self.settled, self._read = open_, settled, read

    @classmethod
    def of(cls, runs: Sequence[RunReport]) -> Reports:
        open_, settled = (
            tuple(run for run in runs if (run.state == SETTLED) is wanted) for wanted in (False, True)
        )
        return cls(open_, len(settled), lambda: settled)

    @cached_property
    def _all(self) -> tuple[RunReport, ...]:
        return (*self.open, *self._read())

    def __len__(self) -> int:
        return len(self.open) + self.settled

    @overload
    def __getitem__(self, index: int) -> RunReport: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[RunReport]: ...
    def __getitem__(self, index: int | slice) -> RunReport | Sequence[RunReport]:
        return self._all[index]

    def __iter__(self) -> Iterator[RunReport]:
        return iter(self._all)


NOT_NEEDED = Unknown("its session file was not read: nothing in it matters here")


@dataclass(frozen=True, slots=True)
class Seen:
    """`looked_at`: epoch seconds of its process's last look. `runs`: of that look, or of one from outside.

    `transcript`: read only where its keys matter. `sessions`: session files of the runs that its keys speak of.
    `bring_back`: the command that opens its session again.
    """

    launcher: Launcher
    watch: Watch
    runs: Reports
    looked_at: float | None = None
    transcript: Transcript | Unknown = NOT_NEEDED
    sessions: Mapping[str, str] = field(default_factory=dict)
    bring_back: str = ""
