"""Activity files: what each child says of itself, one small JSON file a run, replaced by rename.

Source: docs/design.md#what-lies-where. As strict as the reader of pi-herdr-agents: a file it would refuse is
Unknown here.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable
from typing import Annotated

import msgspec

from strawboss.recovery.evidence import Activity, Runs
from strawboss.recovery.verdict import Unknown
from strawboss.runs.foreign_files import Signature, is_settled, read_whole, signature_of, unreadable

WHAT = "its activity file"
LIMIT = 64 * 1024
VERSION = 1
PHASES = frozenset({"starting", "active", "waiting", "done"})
SCOPES = frozenset({"agent", "turn", "provider", "streaming", "tool"})
EVENTS = frozenset(
    {
        "session_start",
        "input",
        "before_agent_start",
        "agent_start",
        "agent_end",
        "turn_start",
        "turn_end",
        "before_provider_request",
        "after_provider_response",
        "message_update",
        "tool_execution_start",
        "tool_call",
        "tool_execution_update",
        "tool_result",
        "tool_execution_end",
        "caller_ping",
        "subagent_done",
        "session_shutdown",
    }
)

RUN_ID = r"[0-9A-Za-z][0-9A-Za-z-]{0,63}"
_FILE_NAME = re.compile(rf"({RUN_ID})\.json")
_Line = Annotated[str, msgspec.Meta(max_length=200, pattern=r"\A[^\r\n]*\Z")]


class _Written(msgspec.Struct, rename="camel"):
    version: int
    running_child_id: _Line
    updated_at: float
    sequence: int
    latest_event: _Line
    phase: _Line
    active_scope: _Line | None = None
    message_event_type: _Line | None = None
    tool_call_id: _Line | None = None
    tool_name: _Line | None = None


# Signature (None: read it again next time), run, and what its file says (None: not a run's file).
_Known = tuple[Signature | None, str, Activity | Unknown | None]
_decoder = msgspec.json.Decoder(_Written)


def parse(content: bytes, run: str) -> Activity | Unknown | None:
    """None: the file speaks of another run, so it is not this run's (a copy, a foreign file)."""
    try:
        written = _decoder.decode(content)
    except msgspec.ValidationError as error:
        return Unknown(f"{WHAT} is not understood: {error}")
    except (ValueError, RecursionError):
        return Unknown(f"{WHAT} is torn or is not JSON")
    if written.running_child_id != run:
        return None
    return _checked(written)


def _checked(written: _Written) -> Activity | Unknown:
    if written.version != VERSION:
        return Unknown(f"{WHAT} has version {written.version}, which is not known here")
    if written.phase not in PHASES or written.latest_event not in EVENTS:
        return Unknown(f"{WHAT} has a phase or an event that is not known here")
    if written.active_scope is not None and written.active_scope not in SCOPES:
        return Unknown(f"{WHAT} has an active scope that is not known here")
    if not math.isfinite(written.updated_at):
        return Unknown(f"{WHAT} has no readable time")
    return Activity(written.phase, written.latest_event, written.updated_at / 1000)


class ActivityFolder:
    """All activity files of one launcher. Each write is a rename, so an unchanged folder holds unchanged files: it costs
    one stat, and one more for each run that is watched, on which something may rest.

    `oldest`: runs that have said nothing since (epoch seconds) are left out, unread.
    """

    def __init__(self, folder: str, oldest: float = 0.0) -> None:
        self._folder, self._oldest = folder, oldest
        self._known: dict[str, _Known] = {}
        self._runs: Runs = {}
        self._whole: tuple[int, Signature] | None = None  # of the folder, where `_known` is all that it holds
        self._watched: set[str] = set()

    def watch(self, run: str) -> None:
        """Its file is looked at when the folder is read next, whatever the folder looks like."""
        self._watched.add(run)

    def read(self) -> Runs | Unknown:
        """Every run that has an activity file. No folder: nothing was launched yet."""
        watched, self._watched = self._watched, set()
        try:
            status = os.stat(self._folder)  # noqa: PTH116 - a look's one call
            if _of_folder(status) != self._whole or not self._are_unchanged(watched):
                self._read_folder(status)
        except FileNotFoundError:
            return self._missing()
        except (OSError, ValueError) as error:
            return unreadable("the activity folder", error)
        return self._runs

    def _are_unchanged(self, runs: Iterable[str]) -> bool:
        files = (f"{run}.json" for run in runs)
        return all(
            self._known[file][0] == signature_of(os.lstat(f"{self._folder}/{file}"))
            for file in files
            if file in self._known
        )

    def _read_folder(self, status: os.stat_result) -> None:
        """`status`: the folder's before it was listed."""
        self._whole = None
        with os.scandir(self._folder) as entries:
            self._known = {entry.name: self._look(entry) for entry in entries}
        self._runs = {run: activity for _, run, activity in self._known.values() if activity is not None}
        if is_settled(status) and all(signature for signature, _, _ in self._known.values()):
            self._whole = _of_folder(status)

    def _missing(self) -> Runs | Unknown:
        """The folder, or a file of it just between listing and stat."""
        if os.path.lexists(self._folder):
            return Unknown("the activity folder changed while it was read")
        return {}

    def _look(self, entry: os.DirEntry[str]) -> _Known:
        status = entry.stat(follow_symlinks=False)
        known = self._known.get(entry.name)
        if known and known[0] == (status.st_mtime_ns, status.st_size, status.st_ino):
            return known
        name = _FILE_NAME.fullmatch(entry.name) if status.st_mtime >= self._oldest else None
        return self._read(name[1], status) if name else (signature_of(status), "", None)

    def _read(self, run: str, status: os.stat_result) -> _Known:
        content = read_whole(f"{self._folder}/{run}.json", WHAT, LIMIT)
        if not isinstance(content, bytes):
            return None, run, content  # unreadable may pass; gone is gone
        return signature_of(status) if is_settled(status) else None, run, parse(content, run)


def _of_folder(status: os.stat_result) -> tuple[int, Signature]:
    """With its ctime: a folder that may not be listed any more has changed too."""
    return status.st_ctime_ns, signature_of(status)
