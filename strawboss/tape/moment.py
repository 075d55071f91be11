"""A moment recorded as a directory: herdr's and the broker's answers as they were, and the session files.

| file | what |
|---|---|
| `pane-list.json` | output of `herdr pane list` |
| `process-info.<pane>.json` | output of `herdr pane process-info`, `w1:p3` written `w1_p3` |
| `intercom.json` | frames received from the broker after register and list |
| `registry.json` | `{"readable": true, "ids": [...]}` |
| `note.txt` | begins with the time it was recorded |
| `sessions/` | session files and `artifacts/`, under the folders they had |

Any of them may be missing or damaged: that evidence is then Unknown.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import msgspec

from strawboss.herdr.address import Address
from strawboss.herdr.client import Herdr
from strawboss.intercom.replies import Sessions, peer
from strawboss.recovery.evidence import (
    Clock,
    Forks,
    Launcher,
    Panes,
    Peer,
    Processes,
    Registry,
    Roster,
    RunFiles,
    Runs,
    Tail,
    Transcript,
)
from strawboss.recovery.settings import Settings
from strawboss.recovery.verdict import Unknown
from strawboss.runs import Disk
from strawboss.tape.look_interface import NotARecordingError

T = TypeVar("T")

MARKS = ("sessions", "pane-list.json", "registry.json", "intercom.json")
POLICY_SUFFIX = ".pi-herdr-subagent-policy.json"
SIZE_LIMIT = 64 * 1024 * 1024
# Where recorded paths are looked for: they name the folders under which `sessions/` was recorded.
PATH_SOURCES = ("pane-list.json", "sessions/**/subagent-scripts/*.sh", "sessions/**/worktree-runs/*.json")
ANYWHERE = "/recorded"
NOT_RECORDED = Unknown("the machine's processes were not recorded")
DEFAULTS = Settings()


class RegistryFile(msgspec.Struct):
    readable: bool
    ids: tuple[str, ...] = ()


class Header(msgspec.Struct):
    type: str = ""
    id: str = ""
    cwd: str = "/"
    name: str = ""


@dataclass(frozen=True, slots=True)
class Recording:
    """One moment's directory, seen as one launcher would have seen it."""

    directory: Path
    launcher: Launcher
    disk: Disk
    resolve: Callable[[str], str]
    clock: Clock | None = None
    settings: Settings = DEFAULTS
    begins_with: None = None
    taped: None = None

    @property
    def label(self) -> str:
        return "/".join(self.directory.resolve().parts[-2:])

    @property
    def recorded_at(self) -> float | None:
        try:
            return datetime.fromisoformat(
                read_bytes(self.directory / "note.txt").decode().split(" ", 1)[0]
            ).timestamp()
        except (OSError, ValueError):
            return None

    @property
    def outcomes(self) -> Mapping[str, object]:
        return {}

    @property
    def later(self) -> None:
        return None

    def registry(self) -> Registry | Unknown:
        read = read_json(self.directory / "registry.json", RegistryFile)
        if isinstance(read, Unknown):
            return read
        return frozenset(read.ids) if read.readable else Unknown("the launcher's registry could not be read")

    def runs(self) -> Runs | Unknown:
        return self.disk.runs()

    def run(self, run: str) -> RunFiles:
        return self.disk.run(run)

    def transcript(self) -> Transcript | Unknown:
        return self.disk.transcript()

    def tail(self, session_file: str) -> Tail | Unknown:
        return self.disk.tail(session_file)

    def forks(self, session_file: str) -> Forks | Unknown:
        return self.disk.forks(session_file)

    def holders(self, _: str) -> Unknown:
        return NOT_RECORDED

    def identify(self, _: int) -> Unknown:
        return NOT_RECORDED

    def roster(self) -> Roster | Unknown:
        return read_roster(self.directory / "intercom.json")

    def panes(self) -> Panes | Unknown:
        return self._herdr().panes()

    def processes(self, pane: str) -> Processes | Unknown:
        return self._herdr().process_info(pane)

    def _herdr(self) -> Herdr:
        return Herdr(
            Address(str(self.directory)),
            resolve=self.resolve,
            connect=lambda _, __: RecordedHerdr(self.directory),
        )


class RecordedHerdr:
    """A connection to the herdr of that moment: it answers from the recorded files, under the request's own id."""

    def __init__(self, directory: Path) -> None:
        self._directory, self._reply = directory, b""

    def send(self, line: bytes, seconds: float) -> None:  # noqa: ARG002 - a recording answers at once
        request = msgspec.json.decode(line)
        file = "pane-list.json"
        if request["method"] == "pane.process_info":
            file = f"process-info.{request['params']['pane_id'].replace(':', '_')}.json"
        try:
            envelope = msgspec.json.decode(read_bytes(self._directory / file))
        except msgspec.DecodeError:
            envelope = None
        if not isinstance(envelope, dict):
            raise OSError(f"{file} was recorded damaged")
        self._reply = msgspec.json.encode({**envelope, "id": request["id"]}) + b"\n"

    def receive(self, limit: int, seconds: float) -> bytes:  # noqa: ARG002
        part, self._reply = self._reply[:limit], self._reply[limit:]
        return part

    def close(self) -> None: ...


def open_recording(directory: Path, launcher: str | None, platform: str) -> Recording:
    """Raises NotARecordingError: no such directory, nothing of a recording in it, or several launchers to choose."""
    if directory.is_file():
        raise NotARecordingError(
            f"{directory}: a file; give a moment's directory, or a fixture that ends in .json"
        )
    if not directory.is_dir():
        raise NotARecordingError(f"{directory}: no such directory")
    if not is_moment(directory):
        raise NotARecordingError(f"{directory}: not a recording; it holds none of {', '.join(MARKS)}")
    folder = choose_launcher(directory, launcher)
    return _as_launcher(directory, folder, platform)


def is_moment(directory: Path) -> bool:
    return any((directory / mark).exists() for mark in MARKS)


def choose_launcher(directory: Path, wanted: str | None) -> Path:
    """The `artifacts/<session id>` folder of the launcher: the one that is named, or the only one."""
    folders = sorted(path for path in directory.glob("sessions/**/artifacts/*") if path.is_dir())
    launchers = [path for path in folders if any(path.glob("subagent-*"))]
    chosen = [path for path in launchers if wanted in (None, path.name)]
    if len(chosen) == 1:
        return chosen[0]
    names = ", ".join(path.name for path in launchers) or "none"
    if wanted is not None and not chosen:
        raise NotARecordingError(f"{directory}: no launcher {wanted}; recorded launchers: {names}")
    if not launchers:
        raise NotARecordingError(
            f"{directory}: no launcher was recorded (no artifacts/<session id> in sessions/)"
        )
    raise NotARecordingError(f"{directory}: several launchers; choose one with --launcher: {names}")


def _as_launcher(directory: Path, artifacts: Path, platform: str) -> Recording:
    sessions = directory / "sessions"
    session_id, folder = artifacts.name, artifacts.parent.parent
    slug = folder.relative_to(sessions).as_posix()
    place = posixpath.join(_recorded_parent(directory, slug), slug) if slug != "." else ANYWHERE
    file = next(iter(sorted(folder.glob(f"*_{session_id}.jsonl"))), folder / f"{session_id}.jsonl")
    header, name = _read_header(file)

    def resolve(path: str) -> str:
        return posixpath.normpath(posixpath.join(header.cwd, path))

    recorded = posixpath.join(place, file.name)
    launcher = Launcher(
        session_id,
        name,
        recorded,
        header.cwd,
        platform=platform,
        nested=file.with_name(file.name + POLICY_SUFFIX).exists(),
    )
    elsewhere = None if slug == "." else directory / "not recorded"
    locate = _locator(sessions, elsewhere)
    disk = Disk(recorded, f"{place}/artifacts/{session_id}", locate, resolve, session_id)
    return Recording(directory, launcher, disk, resolve)


def _locator(sessions: Path, elsewhere: Path | None) -> Callable[[str], Path]:
    """Where a path of the recorded machine lies in the recording, by its folder of sessions, the longest name first."""
    slugs = sorted((path.name for path in sessions.iterdir() if path.is_dir()), key=len, reverse=True)

    def locate(path: str) -> Path:
        for one in slugs:
            before, found, rest = path.partition(f"/{one}")
            if found and before and (not rest or rest.startswith("/")):
                return sessions / one / rest.lstrip("/")
        return elsewhere or sessions / posixpath.basename(path)

    return locate


def _recorded_parent(directory: Path, slug: str) -> str:
    """The folder in which the recorded machine had `slug`, as most recorded paths have it."""
    pattern = re.compile(rf"""(?:^|["'\s])(/[^"'\n]*?)/{re.escape(slug)}/""", re.MULTILINE)
    found: Counter[str] = Counter()
    for text in _texts(directory):
        found.update(pattern.findall(text))
    return found.most_common(1)[0][0] if found else ANYWHERE


def _texts(directory: Path) -> Iterable[str]:
    for source in PATH_SOURCES:
        for path in sorted(directory.glob(source)):
            if path.is_file():
                yield read_bytes(path).decode("utf-8", "replace")


def _read_header(file: Path) -> tuple[Header, str]:
    """The first line, and the name from the last `session_info`; what cannot be read tells nothing."""
    header, name = Header(), ""
    lines = read_bytes(file).splitlines() if file.is_file() else []
    for number, line in enumerate(lines):
        if number and b'"session_info"' not in line:
            continue
        try:
            entry = msgspec.json.decode(line, type=Header)
        except msgspec.DecodeError:
            continue
        if number == 0:
            header = entry
        elif entry.type == "session_info":
            name = entry.name
    return header, name


def read_roster(path: Path) -> Roster | Unknown:
    frames = read_json(path, list[dict[str, object]])
    if isinstance(frames, Unknown):
        return frames
    for frame in frames:
        if frame.get("type") == "sessions":
            return _peers(frame, frames)
    return Unknown(f"{path.name} holds no answer to a list")


def _peers(frame: dict[str, object], frames: list[dict[str, object]]) -> tuple[Peer, ...] | Unknown:
    own = {one.get("sessionId") for one in frames if one.get("type") == "registered"}
    try:
        sessions = msgspec.convert(frame, Sessions).sessions
    except msgspec.ValidationError as error:
        return Unknown(f"the roster cannot be read: {error}")
    return tuple(peer(session) for session in sessions if session.id not in own)


def read_json(path: Path, shape: type[T]) -> T | Unknown:
    try:
        return msgspec.json.decode(read_bytes(path), type=shape)
    except OSError as error:
        return Unknown(f"{path.name} cannot be read: {error.strerror}")
    except msgspec.DecodeError as error:
        return Unknown(f"{path.name} cannot be understood: {error}")


def read_bytes(path: Path) -> bytes:
    """Raises OSError; a file no recording has the size of is not read."""
    if path.stat().st_size > SIZE_LIMIT:
        raise OSError(f"{path.name} is larger than {SIZE_LIMIT} bytes")
    return path.read_bytes()
