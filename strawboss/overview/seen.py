"""One launcher as it was found, by its own last look or from outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

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


NOT_NEEDED = Unknown("its session file was not read: nothing in it matters here")


@dataclass(frozen=True, slots=True)
class Seen:
    """`looked_at`: epoch seconds of its process's last look. `runs`: of that look, or of one from outside.

    `transcript`: read only where its keys matter. `sessions`: session files of the runs that its keys speak of.
    `bring_back`: the command that opens its session again.
    """

    launcher: Launcher
    watch: Watch
    runs: tuple[RunReport, ...]
    looked_at: float | None = None
    transcript: Transcript | Unknown = NOT_NEEDED
    sessions: Mapping[str, str] = field(default_factory=dict)
    bring_back: str = ""
