"""What a check may ask for. It yields these and is sent the answer; it never does anything itself (docs/design.md#a-look).

| command | the answer it is sent |
|---|---|
| `ReadRegistry` | `frozenset[str]` of run ids the launcher tracks, or Unknown |
| `ReadRuns` | `{run id: Activity or Unknown}` of every run of this launcher, or Unknown |
| `ReadRun` | `RunFiles` |
| `ReadTranscript` | `Transcript`, or Unknown |
| `ListSessions` | `tuple[Peer, ...]`, or Unknown |
| `ListPanes` | `tuple[Pane, ...]`, or Unknown |
| `ProcessInfo` | `tuple[Process, ...]`, or Unknown |
| `ReadTail` | `Tail`, or Unknown |
| `FindForks` | `Forks`, or Unknown |
| `FindHolders` | `Holders`, or Unknown |
| `Identify` | `Identity`, None when no process has the pid, or Unknown |
| `ReadSession` | `SessionState`, or Unknown |
| `WriteKey` | True when the entry is in the file, False or Unknown otherwise |
| `ClosePane` · `SendIntercom` · `TellLauncher` | `Outcome` |
| `Notify` | None |
| `Pause` | the monotonic clock's seconds, after the pause |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Outcome(Enum):
    """How an effect ended. UNKNOWN: it may have happened (the reply was lost)."""

    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown outcome"


@dataclass(frozen=True, slots=True)
class Result:
    outcome: Outcome
    why: str = ""


@dataclass(frozen=True, slots=True)
class SessionState:
    """The launcher's session now: `idle` = settled, nothing queued runs; `compacting` = a compaction is under way."""

    idle: bool
    compacting: bool = False


@dataclass(frozen=True, slots=True)
class ReadRegistry: ...


@dataclass(frozen=True, slots=True)
class ReadRuns: ...


@dataclass(frozen=True, slots=True)
class ReadRun:
    run: str


@dataclass(frozen=True, slots=True)
class ReadTranscript: ...


@dataclass(frozen=True, slots=True)
class ListSessions: ...


@dataclass(frozen=True, slots=True)
class ListPanes: ...


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    pane: str


@dataclass(frozen=True, slots=True)
class ReadTail:
    session_file: str


@dataclass(frozen=True, slots=True)
class FindForks:
    session_file: str


@dataclass(frozen=True, slots=True)
class FindHolders:
    """Which processes of this machine may be on a session file; `script`: the path of its script, or empty."""

    session_file: str
    script: str


@dataclass(frozen=True, slots=True)
class Identify:
    pid: int


@dataclass(frozen=True, slots=True)
class ReadSession: ...


@dataclass(frozen=True, slots=True)
class WriteKey:
    """Append `{key: run, **data}` as a `straw-boss` entry to the launcher's session, and read it back."""

    key: str
    run: str
    data: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClosePane:
    pane: str


@dataclass(frozen=True, slots=True)
class SendIntercom:
    """One message to exactly this session; `epoch` None: the broker knows no epochs."""

    session: str
    epoch: str | None
    text: str


@dataclass(frozen=True, slots=True)
class TellLauncher:
    """One custom message into the launcher's session, steering, triggering a turn. `id` and `runs` go to its details."""

    id: str
    runs: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Notify:
    level: str  # info | warning
    text: str


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


Read = (
    ReadRegistry
    | ReadRuns
    | ReadRun
    | ReadTranscript
    | ListSessions
    | ListPanes
    | ProcessInfo
    | ReadTail
    | FindForks
    | FindHolders
    | Identify
    | ReadSession
)
Effect = WriteKey | ClosePane | SendIntercom | TellLauncher | Notify | Pause
Command = Read | Effect
