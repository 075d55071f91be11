"""One look at the status directories: every record judged against one `now`, every trouble a row or an error.

Reads only the top level, skips what belongs to the steer inbox, and writes nothing (docs/heartbeat.md#the-record).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from strawboss.heartbeat.layout import STATUS_DIRECTORY
from strawboss.heartbeat.places import NoPlaceError, is_named, is_of_steers
from strawboss.heartbeat.record import STALE_AFTER_SECONDS, Record, examine
from strawboss.heartbeat.utc import utc_now
from strawboss.system.json_files import Broken, read_object


@dataclass(frozen=True, slots=True)
class Sweep:
    """`directories` as given, each once; `errors` are directories that could not be listed."""

    directories: tuple[str, ...]
    records: tuple[Record, ...]
    errors: tuple[str, ...]
    now: datetime
    stale_after: float = STALE_AFTER_SECONDS

    @property
    def stale(self) -> list[Record]:
        return [record for record in self.records if record.is_stale]

    @property
    def malformed(self) -> list[Record]:
        return [record for record in self.records if record.failures]

    @property
    def all_ok(self) -> bool:
        return not self.errors and all(record.ok for record in self.records)

    @property
    def sees_nothing(self) -> bool:
        """A configuration error: directories are at fault and there is not a single record."""
        return bool(self.errors) and not self.records


def sweep(directories: Iterable[str], now: datetime, stale_after: float = STALE_AFTER_SECONDS) -> Sweep:
    """Read every record of `directories`, in their order and then by file name; the stale ones once more at the end.

    A last word that lands while the others are read is heard: nobody is called stale on the older of two looks.
    """
    distinct = _distinct(directories)
    records: list[Record] = []
    errors: list[str] = []
    for directory in distinct:
        try:
            found = list(_records(directory, now, stale_after))
        except OSError as error:
            errors.append(f"{directory}: {error.strerror or error}")
            continue
        if _is_status_directory(directory, found):
            records.extend(found)
        else:
            errors.append(f"{directory}: not a status directory: another name, and no heartbeat in it")
    newest = (_record(each.path, now, stale_after) if each.is_stale else each for each in records)
    return Sweep(tuple(distinct), tuple(filter(None, newest)), tuple(errors), now, stale_after)


def check_status_directory(directory: Path) -> None:
    """Raises NoPlaceError: a directory that is not there, or never was one of heartbeats, says nothing of any worker.

    Raises OSError when that cannot be seen.
    """
    found = _records(str(directory), utc_now(), STALE_AFTER_SECONDS)
    if not directory.is_dir() or not _is_status_directory(str(directory), found):
        raise NoPlaceError(
            f"{directory} is not a status directory; the parent makes it with swarm:pre-dispatch or swarm:launch"
        )


def _is_status_directory(directory: str, found: Iterable[Record]) -> bool:
    # Only by its name may it be empty: a worker that never beat leaves nothing.
    return is_named(directory, STATUS_DIRECTORY) or any(record.agent_id and record.at for record in found)


def _distinct(directories: Iterable[str]) -> list[str]:
    # The same directory under two names would count, and take over, its workers twice.
    distinct: dict[str, str] = {}
    for directory in directories:
        distinct.setdefault(os.path.realpath(directory), directory)
    return list(distinct.values())


def _records(directory: str, now: datetime, stale_after: float) -> Iterator[Record]:
    for name in sorted(name for name in os.listdir(directory) if _counts(name)):  # noqa: PTH208 - a str, and an error here
        if record := _record(os.path.join(directory, name), now, stale_after):  # noqa: PTH118 - as the caller spelled it
            yield record


def _record(path: str, now: datetime, stale_after: float) -> Record | None:
    """None for what is no record: a subdirectory, a steer, or a file that vanished."""
    content = _content(path)
    if content is None or (not isinstance(content, Broken) and is_of_steers(content)):
        return None
    return examine(path, os.path.basename(path).removesuffix(".json"), content, now, stale_after)  # noqa: PTH119 - ten thousand times a sweep


def _counts(name: str) -> bool:
    return name.endswith(".json") and name != ".json"


def _content(path: str) -> dict[str, object] | Broken | None:
    try:
        mode = os.lstat(path).st_mode
    except (OSError, ValueError):
        return read_object(path)  # it knows whether that is a trouble
    if stat.S_ISLNK(mode):
        return _linked(Path(path))
    return None if stat.S_ISDIR(mode) else read_object(path)


def _linked(path: Path) -> dict[str, object] | Broken | None:
    target = Path(os.path.realpath(path))
    if not target.is_relative_to(os.path.realpath(path.parent)):
        return Broken("unreadable: a link out of the directory is not followed")
    if target.is_dir():
        return None
    content = read_object(target)
    return Broken("unreadable: a link to nothing") if content is None else content
