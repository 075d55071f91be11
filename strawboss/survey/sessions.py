"""The sessions that have launched subagents, found in the folders in which pi keeps sessions.

Source: docs/design.md#what-lies-where: a launcher's runs lie in
`artifacts/<session id>/` of a session folder, its session file mostly beside `artifacts`, named after its id.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

import msgspec

from strawboss.pi.command import agent_directory
from strawboss.recovery.verdict import Unknown
from strawboss.runs.foreign_files import open_regular
from strawboss.runs.header import read_header
from strawboss.runs.lines import marked, whole_lines

NAME_MARK = b'"session_info"'


@dataclass(frozen=True, slots=True)
class Found:
    """A session with artifacts. `artifacts`: its own folder of them."""

    id: str
    file: str
    artifacts: str
    cwd: str


class _Name(msgspec.Struct, tag_field="type", tag="session_info"):
    name: str = ""


class _Settings(msgspec.Struct):
    """Of pi's settings, the one member read here."""

    sessionDir: str = ""  # noqa: N815 - pi's name


def session_folders(environment: Mapping[str, str]) -> Iterator[Path]:
    """Every folder in which pi may keep sessions: one for each directory it was started in, or the one it is told."""
    directory = agent_directory(environment)
    with suppress(OSError):
        yield from (Path(entry) for entry in os.scandir(directory / "sessions") if entry.is_dir())
    for told in (environment.get("PI_CODING_AGENT_SESSION_DIR", "").strip(), _session_directory(directory)):
        if told:
            yield Path(told).expanduser()


def _session_directory(directory: Path) -> str:
    try:
        return msgspec.json.decode((directory / "settings.json").read_bytes(), type=_Settings).sessionDir
    except (OSError, msgspec.DecodeError):
        return ""


def recent_artifacts(folders: Iterable[Path], oldest: float) -> Iterator[Path]:
    """The artifacts folders in which a run has said something since `oldest` (epoch seconds).

    A run's file is replaced by rename, which its folder's own time tells: an old launcher costs one look at that.
    """
    for folder in folders:
        for artifacts in _entries(folder / "artifacts"):
            with suppress(OSError):
                if (artifacts / "subagent-activity").stat().st_mtime >= oldest:
                    yield artifacts


def _entries(folder: Path) -> list[Path]:
    try:
        return [Path(entry) for entry in os.scandir(folder)]
    except OSError:
        return []


def find(artifacts: Path) -> Found | None:
    """The session they belong to; None when its file is not there any more, or cannot be read."""
    folder, session = artifacts.parent.parent, artifacts.name
    named = [file for file in _files(folder) if file.endswith(f"_{session}.jsonl")]
    for file in named or _files(folder):
        header = _header(file)
        if header is not None and header[0] == session:
            return Found(session, file, str(artifacts), header[1])
    return None


def _files(folder: Path) -> list[str]:
    return sorted(str(file) for file in _entries(folder) if file.suffix == ".jsonl")


def _header(file: str) -> tuple[str, str] | None:
    try:
        with open_regular(file, follow=True) as opened:
            header = read_header(opened)
    except (OSError, ValueError):
        return None
    if isinstance(header, Unknown):
        return None
    return header.id, header.cwd


def name_of(file: str) -> str:
    """The name a user has given the session; empty without one. Untrusted text."""
    try:
        with open_regular(file, follow=True) as opened:
            return _last_name(opened, os.fstat(opened.fileno()).st_size)
    except (OSError, ValueError):
        return ""


def _last_name(file: FileIO, size: int) -> str:
    name = ""
    for _, block in whole_lines(file, 0, size, (NAME_MARK,)):
        for line in marked(block, (NAME_MARK,)):
            try:
                name = msgspec.json.decode(line, type=_Name).name
            except msgspec.DecodeError:
                continue
    return name
