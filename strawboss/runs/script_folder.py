"""Which script in the launcher's script folder started a run.

A launch script's name ends in its run's id (the rest of the name loses information), a resume script's in a time; what
decides is the id in the command. Nothing ever deletes from this folder, so its listing is kept until it changes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from strawboss.recovery.verdict import Unknown
from strawboss.runs.foreign_files import Cache, read_whole
from strawboss.runs.script import RESUMED, Script, parse, parse_resume, run_of
from strawboss.system.printable import printable

WHAT = "its launch script"
RESUME = "its resume script"
LIMIT = 1024 * 1024  # a forked run's task is part of the command
Parse = Callable[[bytes, str, Callable[[str], str]], Script | Unknown]
_RESUME_NAME = re.compile(r".*resume-\d+\.sh", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Listing:
    """What lies in the folder: names by what follows their last hyphen, as thousands of runs ask; and the resumes."""

    by_end: Mapping[str, list[str]]
    resumes: Sequence[str]

    def ending_in(self, run: str) -> list[str]:
        end = f"-{run}.sh"
        return [name for name in self.by_end.get(_end_of(end), ()) if name.endswith(end)]


NO_SCRIPTS = _Listing({}, ())


def _listed(folder: str) -> _Listing:
    by_end: dict[str, list[str]] = {}
    for name in os.listdir(folder):  # noqa: PTH208 - names are all that is needed
        by_end.setdefault(_end_of(name), []).append(name)
    return _Listing(
        by_end, [name for names in by_end.values() for name in names if _RESUME_NAME.fullmatch(name)]
    )


def _end_of(name: str) -> str:
    return name.rpartition("-")[2]


class ScriptFolder:
    """`folder`: as the launcher writes it into commands. `found`: where it really is."""

    def __init__(self, folder: str, found: str, resolve: Callable[[str], str]) -> None:
        self._folder, self._found, self._resolve = folder, found, resolve
        self._listing: Cache[_Listing] = Cache("the folder of launch scripts", _listed, follow=True)
        self._scripts: Cache[Script] = Cache(WHAT, lambda path: self._read(path, WHAT, parse))
        self._resumes: Cache[Script] = Cache(RESUME, lambda path: self._read(path, RESUME, parse_resume))
        self._resumed: Cache[str] = Cache(RESUME, _resumed_run)

    def of(self, run: str) -> Script | Unknown | None:
        """None: there is no script of it. Unknown: it cannot be read, does not name its run, or is a resume's."""
        listing = self._listing.get(self._found) or NO_SCRIPTS
        if isinstance(listing, Unknown):
            return listing
        own = listing.ending_in(run)
        if len(own) > 1:
            return Unknown("two scripts end in its id: its launch script does not name its run alone")
        if not own:
            return RESUMED if self._resumes_of(run, listing) else None
        script = self._scripts.get(f"{self._found}/{own[0]}")
        if isinstance(script, Script) and script.run != run:
            return Unknown("its launch script does not name its run: its command carries another id")
        return script

    def resume_of(self, run: str) -> Script | Unknown | None:
        """The script that resumed a session file as this run. None: there is none. Unknown: torn, or not the only one."""
        listing = self._listing.get(self._found) or NO_SCRIPTS
        own = listing if isinstance(listing, Unknown) else self._resumes_of(run, listing)
        if isinstance(own, Unknown):
            return own
        if len(own) > 1:
            return Unknown(f"two scripts resume it: {' and '.join(map(printable, sorted(own)))}")
        return self._resumes.get(f"{self._found}/{own[0]}") if own else None

    def _read(self, path: str, what: str, parse: Parse) -> Script | Unknown | None:
        content = read_whole(path, what, LIMIT)
        if not isinstance(content, bytes):
            return content
        return parse(content, f"{self._folder}{path.removeprefix(self._found)}", self._resolve)

    def _resumes_of(self, run: str, listing: _Listing) -> list[str]:
        return [name for name in listing.resumes if self._resumed.get(f"{self._found}/{name}") == run]


def _resumed_run(path: str) -> str | Unknown | None:
    content = read_whole(path, RESUME, LIMIT)
    return run_of(content) if isinstance(content, bytes) else content
