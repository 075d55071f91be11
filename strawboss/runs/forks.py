"""Forks of a session: pi goes on in a new file, whose header names the old one, and the old file then looks cut or idle.

Source: docs/design.md#what-lies-where. A fork lies in the folder of its parent, as far as it is looked for here. A
subagent's file names its launcher's as parent too and is no fork: its name tells.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from strawboss.recovery.evidence import Forks
from strawboss.recovery.verdict import Unknown
from strawboss.runs.foreign_files import Cache, open_regular, unreadable
from strawboss.runs.header import read_header

WHAT = "a session file beside its own"
FOLDER = "the folder of its session file"
_SUBAGENT = re.compile(r".*-[0-9a-f]{1,8}-[0-9a-f]{1,8}-[0-9a-f]{1,4}\.jsonl", re.DOTALL)
_Entry = tuple[str, int]  # name, inode


class ForkFinder:
    """A folder is listed again when it changed, and a header is read once. `locate`, `resolve`: as for `Disk`."""

    def __init__(self, locate: Callable[[str], Path], resolve: Callable[[str], str]) -> None:
        self._locate, self._resolve = locate, resolve
        self._listing: Cache[list[_Entry]] = Cache(FOLDER, _sessions_in, follow=True)
        self._parents: dict[tuple[str, int], str | None] = {}

    def of(self, session_file: str) -> Forks | Unknown:
        """`session_file`: as `resolve` gives it. Every fork of it, for none can be older than it."""
        folder = str(Path(session_file).parent)
        try:
            found = str(self._locate(folder))
            entries = self._listing.get(found)
            if isinstance(entries, Unknown):
                return entries
            if entries is None:
                return Unknown(f"{FOLDER} is not there", absent=True)
            forks = [
                name for name, inode in entries if self._parent(f"{found}/{name}", inode) == session_file
            ]
        except (OSError, ValueError, RuntimeError) as error:
            return unreadable(WHAT, error)
        return tuple(f"{folder}/{name}" for name in sorted(forks))

    def _parent(self, path: str, inode: int) -> str | None:
        """The resolved path of the file it is a fork of. Raises OSError, also while that cannot be resolved."""
        known = self._parents.get((path, inode), "")
        return known if known != "" else self._read(path, inode)

    def _read(self, path: str, inode: int) -> str | None:
        try:
            with open_regular(path, follow=True) as file:
                header = read_header(file)
        except FileNotFoundError:
            return None
        if isinstance(header, Unknown):
            return None  # pi opens no such file: nobody works in it
        parent = header.parent_session
        self._parents[path, inode] = self._resolve(parent) if isinstance(parent, str) and parent else None
        return self._parents[path, inode]


def _sessions_in(folder: str) -> list[_Entry]:
    with os.scandir(folder) as entries:
        return [
            (entry.name, entry.inode())
            for entry in entries
            if entry.name.endswith(".jsonl") and not _SUBAGENT.fullmatch(entry.name)
        ]
