"""A fixture: several looks in one JSON file, evidence as the core sees it.

    {"about": "…", "platform": "linux", "launcher": {"id": …, "name": …, "file": …, "cwd": …},
     "looks": [{"times": 2, "registry": ["id"], "runs": {"id": {"phase": …}}, "files": {…}, "panes": […], …}]}

A member that a look leaves out is what it was at the look before, so that a look says what is new; the first look
starts from an empty world. `{"unknown": "why"}` may stand for any evidence, `{"absent": "why"}` for a roster
that no broker could give. Members of a look:

| member | evidence |
|---|---|
| `registry` | list of run ids |
| `runs` | run id → activity (`phase`, `latest_event`, `updated_at`) |
| `files` | run id → `script`, `ended`, `policy`, `worktree`, `resume_script` |
| `transcript` | `keys`, `results`, `pings`, `told`, `worktrees`, `torn_results`, `torn_keys` |
| `tails` | session file → `session_id`, `entries`, `torn`, `size`, `changed_at` |
| `forks` | session file → list of forks of it; none where it is left out |
| `holders` | session file → `naming`, `unreadable`, `silent`; nobody where it is left out |
| `identities` | pid → `pid`, `started`, `boot`; no such process where it is left out |
| `roster`, `panes` | lists of peers, of panes |
| `processes` | pane id → list of processes |
| `outcomes` | `close`, `send`, `tell`, `key` → failed, unknown, ignored, dropped, compacting |
| `clock` | `{"wall": …, "monotonic": …}`; otherwise looks are `LOOK_SECONDS` apart |
| `session_start` | true: a process new to the session takes this look |
| `times` | the look is taken so often |
| `later` | members that are something else once a key was written in this look, until it ends |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from strawboss.recovery.evidence import (
    Activity,
    Clock,
    Forks,
    Holders,
    Identity,
    Launcher,
    LaunchScript,
    Pane,
    Panes,
    Peer,
    Policy,
    Process,
    Processes,
    Registry,
    Roster,
    RunFiles,
    Runs,
    Tail,
    Transcript,
    Worktree,
)
from strawboss.recovery.memory import Memory
from strawboss.recovery.settings import Settings
from strawboss.recovery.verdict import Unknown
from strawboss.tape.look_interface import Evidence, NotARecordingError

T = TypeVar("T")

MOST_TIMES = 10_000
NOT_RECORDED = {"unknown": "not recorded"}
NO_BROKER = {"absent": "no broker is recorded"}
EMPTY: Mapping[str, Any] = {
    "registry": [],
    "runs": {},
    "files": {},
    "transcript": {},
    "tails": {},
    "forks": {},
    "holders": {},
    "identities": {},
    "roster": NO_BROKER,
    "panes": NOT_RECORDED,
    "processes": {},
    "outcomes": {},
}
DEFAULTS = Settings()
ONCE = ("clock", "session_start", "times", "later")


class Fixture(msgspec.Struct, forbid_unknown_fields=True):
    launcher: Launcher
    looks: list[dict[str, Any]]
    about: str = ""
    platform: str = "linux"


class State(msgspec.Struct):
    """What a look says, with what it left out; the evidence itself is checked piece by piece."""

    registry: Any
    runs: dict[str, Any]
    files: dict[str, dict[str, Any]]
    transcript: Any
    tails: dict[str, Any]
    forks: dict[str, Any]
    holders: dict[str, Any]
    identities: dict[str, Any]
    roster: Any
    panes: Any
    processes: dict[str, Any]
    outcomes: dict[str, Any]


@dataclass(frozen=True, slots=True)
class FixtureLook:
    """One look of a fixture, decoded when it is read: a fixture that says nonsense is refused as a whole."""

    label: str
    launcher: Launcher
    clock: Clock | None
    session_start: bool
    outcomes: Mapping[str, object]
    known_registry: Registry | Unknown
    known_runs: Runs | Unknown
    files: Mapping[str, RunFiles]
    known_transcript: Transcript | Unknown
    tails: Mapping[str, Tail | Unknown]
    known_forks: Mapping[str, Forks | Unknown]
    known_holders: Mapping[str, Holders | Unknown]
    identities: Mapping[str, Identity | Unknown]
    known_roster: Roster | Unknown
    known_panes: Panes | Unknown
    known_processes: Mapping[str, Processes | Unknown]
    later: Evidence | None = None
    settings: Settings = DEFAULTS
    taped: None = None

    @property
    def begins_with(self) -> Memory | None:
        return Memory() if self.session_start else None

    @property
    def recorded_at(self) -> float | None:
        return self.clock.wall if self.clock else None

    def registry(self) -> Registry | Unknown:
        return self.known_registry

    def runs(self) -> Runs | Unknown:
        return self.known_runs

    def run(self, run: str) -> RunFiles:
        return self.files.get(run, RunFiles(None))

    def transcript(self) -> Transcript | Unknown:
        return self.known_transcript

    def tail(self, session_file: str) -> Tail | Unknown:
        return self.tails.get(session_file, Unknown("its session file is not recorded"))

    def forks(self, session_file: str) -> Forks | Unknown:
        return self.known_forks.get(session_file, ())

    def holders(self, session_file: str) -> Holders | Unknown:
        return self.known_holders.get(session_file, Holders())

    def identify(self, pid: int) -> Identity | Unknown | None:
        return self.identities.get(str(pid))

    def roster(self) -> Roster | Unknown:
        return self.known_roster

    def panes(self) -> Panes | Unknown:
        return self.known_panes

    def processes(self, pane: str) -> Processes | Unknown:
        return self.known_processes.get(pane, Unknown("herdr does not list its processes"))


def open_fixture(path: Path, platform: str | None = None) -> list[Evidence]:
    """The looks of a fixture file; raises NotARecordingError saying what is wrong and where."""
    try:
        fixture = msgspec.json.decode(path.read_bytes(), type=Fixture)
        launcher = replace(fixture.launcher, platform=platform or fixture.platform)
        looks = list(_looks(path.stem, launcher, fixture.looks))
    except OSError as error:
        raise NotARecordingError(f"{path}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise NotARecordingError(f"{path}: not a fixture of looks: {error}") from error
    if not looks:
        raise NotARecordingError(f"{path}: it holds no looks")
    return looks


def _looks(label: str, launcher: Launcher, written: list[dict[str, Any]]) -> Iterator[Evidence]:
    state = dict(EMPTY)
    for number, look in enumerate(written, 1):
        _check_names(number, look, {*EMPTY, *ONCE})
        _check_names(number, msgspec.convert(look.get("later", {}), dict[str, Any]), {*EMPTY})
        state.update({name: value for name, value in look.items() if name not in ONCE})
        yield from _repeat(f"{label} {number}", launcher, state, look)


def _check_names(number: int, written: Mapping[str, Any], known: set[str]) -> None:
    strange = sorted(written.keys() - known)
    if strange:
        raise msgspec.ValidationError(f"look {number} has no member {strange[0]!r}")


def _repeat(
    label: str, launcher: Launcher, state: Mapping[str, Any], look: Mapping[str, Any]
) -> Iterator[Evidence]:
    times = msgspec.convert(look.get("times", 1), int)
    if not 1 <= times <= MOST_TIMES:
        raise msgspec.ValidationError(f"`times` is {times}; write 1 to {MOST_TIMES}")
    clock = msgspec.convert(look["clock"], Clock) if "clock" in look else None
    first = _decode(label, launcher, state, clock, session_start=bool(look.get("session_start")))
    if "later" in look:
        first = replace(first, later=_decode(label, launcher, {**state, **look["later"]}, clock))
    yield first
    for _ in range(times - 1):
        yield replace(first, clock=None, session_start=False)


def _decode(
    label: str,
    launcher: Launcher,
    state: Mapping[str, Any],
    clock: Clock | None,
    *,
    session_start: bool = False,
) -> FixtureLook:
    said = msgspec.convert(state, State)
    return FixtureLook(
        label,
        launcher,
        clock,
        session_start,
        said.outcomes,
        _known(said.registry, frozenset[str]),
        _unknown(said.runs) or {run: _known(one, Activity) for run, one in said.runs.items()},
        {run: _files(one) for run, one in said.files.items()},
        _known(said.transcript, Transcript),
        {file: _known(one, Tail) for file, one in said.tails.items()},
        {file: _known(one, tuple[str, ...]) for file, one in said.forks.items()},
        {file: _known(one, Holders) for file, one in said.holders.items()},
        {pid: _known(one, Identity) for pid, one in said.identities.items()},
        _known(said.roster, tuple[Peer, ...]),
        _known(said.panes, tuple[Pane, ...]),
        {pane: _known(one, tuple[Process, ...]) for pane, one in said.processes.items()},
    )


def _files(written: Mapping[str, Any]) -> RunFiles:
    return RunFiles(
        _optional(written.get("script"), LaunchScript),
        _known(written.get("ended", False), bool),
        _optional(written.get("policy"), Policy),
        _optional(written.get("worktree"), Worktree),
        _optional(written.get("resume_script"), LaunchScript),
    )


def _optional(value: Any, shape: type[T]) -> T | Unknown | None:
    return None if value is None else _known(value, shape)


def _known(value: Any, shape: type[T]) -> T | Unknown:
    return _unknown(value) or msgspec.convert(value, shape)


def _unknown(value: Any) -> Unknown | None:
    for word in ("unknown", "absent"):
        if isinstance(value, dict) and value.keys() == {word}:
            return Unknown(str(value[word]), absent=word == "absent")
    return None
