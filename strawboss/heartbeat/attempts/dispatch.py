"""`swarm:pre-dispatch`: begin and end attempts under the ledger's lock; every road to `cancelled` asks pre-cancel.

Exit codes: 0 done, 1 refused, 2 the ledger cannot be used. A refused action changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from filelock import FileLock, Timeout

from strawboss.heartbeat.attempts import ledger
from strawboss.heartbeat.attempts.decide import DUPLICATE, may_begin
from strawboss.heartbeat.attempts.ledger import Attempt, Unit, UnitKey
from strawboss.heartbeat.attempts.lock import LedgerHeldError, locked
from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.places import ledger_roots, make_scratch
from strawboss.heartbeat.precancel import Outcome as PreCancelOutcome
from strawboss.system.files import FILE_MODE, make_private_directory
from strawboss.system.json_files import Broken

CANCELLED = "cancelled"
DEFAULT_WORKFLOW = "drive-to:merge-ready"
LOCK_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Place:
    """One unit of one project: `target` as the caller spelled it."""

    project_root: Path
    scope: str
    target: str
    workflow: str = DEFAULT_WORKFLOW

    @property
    def key(self) -> UnitKey:
        return UnitKey(self.scope, ledger.target_key(self.target, self.project_root), self.workflow)

    @property
    def directory(self) -> Path:
        return ledger.ledger_directory(self.project_root)

    @property
    def file(self) -> Path:
        return self.directory / self.key.file_name

    @property
    def path(self) -> Path:
        """The target as a path below the project; it need not exist."""
        return self.project_root / self.target

    @property
    def worktree(self) -> Worktree | None:
        """Where the worker's files are; None for a target that is no directory, or not yet."""
        return Worktree(self.path) if self.path.is_dir() else None


class Outcome(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """`swarm:pre-dispatch --json`."""

    exit_code: int
    decision: str
    reason: str
    action: str
    scope_id: str
    target_id: str
    workflow_id: str
    attempt: dict[str, Any] | None
    active_attempt_ids: list[str]


def begin(
    place: Place, revision: str, worker_id: str | None, external_run_id: str | None, now: datetime
) -> Outcome:
    """Make the worker's status directory and, if the unit may have another attempt, its row."""

    def act(unit: Unit) -> Outcome:
        elsewhere = list(_active_elsewhere(place))
        active = (*unit.active, *(attempt for _, attempt in elsewhere))
        decision = may_begin(unit, active, revision)
        if not decision.allowed:
            where = f" ({elsewhere[0][0]})" if decision.code == DUPLICATE and not unit.active else ""
            return _outcome(place, "begin", 1, decision.code, decision.reason + where, None, active)
        trigger = "automatic" if not unit.attempts else "retry"
        attempt = ledger.new_attempt(revision, now, worker_id, external_run_id, trigger)
        named = replace(unit, raw=unit.raw | {ledger.PATH_KEY: str(place.path.absolute())})
        ledger.write_unit(place.directory, ledger.begun(named, attempt), now)
        return _outcome(place, "begin", 0, decision.code, decision.reason, attempt, (attempt,))

    try:
        if place.worktree:
            make_scratch(place.worktree.status_directory)
    except OSError as error:
        return _unusable(place, "begin", f"cannot make the status directory: {error}")
    return _with_unit(place, "begin", place.file, act)


def end(
    place: Place,
    action: str,
    status: str,
    attempt_id: str | None,
    ask: Callable[[Attempt], PreCancelOutcome],
    now: datetime,
) -> Outcome:
    """End an active attempt: `action` is complete or cancel, `status` what becomes of it.

    Whatever would be `cancelled` is asked about first; the lock is held over the question and the write.
    """

    def act(unit: Unit) -> Outcome:
        attempt = _chosen(unit, attempt_id)
        if attempt is None:
            return _none_active(place, action, unit, attempt_id)
        asked = ask(attempt) if status == CANCELLED else None
        if asked and not asked.ok:
            reason = f"pre-cancel refused: {asked.message}"
            return _outcome(place, action, asked.exit_code, "REFUSED", reason, attempt, unit.active)
        after = ledger.closed(unit, attempt, status, now)
        ledger.write_unit(file.parent, after, now)
        decision = "CANCELLED" if asked else "COMPLETED"
        reason = asked.message if asked else f"attempt {attempt.id} {status}"
        return _outcome(place, action, 0, decision, reason, after.row(attempt.id), after.active)

    try:
        file = _file_of(place, attempt_id)
    except _DamagedError as trouble:
        return _unusable(place, action, str(trouble))
    if not file.parent.exists():
        return _none_active(place, action, Unit(place.key), attempt_id)
    return _with_unit(place, action, file, act)


def _file_of(place: Place, attempt_id: str | None) -> Path:
    """The file of the unit whose attempt is to be ended: its own, or where the attempt is that denies a begin."""
    own = ledger.read_unit(place.file)
    if isinstance(own, Broken) or (own and _chosen(own, attempt_id)):
        return place.file
    elsewhere = _active_elsewhere(place)
    return next((file for file, attempt in elsewhere if attempt_id in (None, attempt.id)), place.file)


def _with_unit(place: Place, action: str, path: Path, act: Callable[[Unit], Outcome]) -> Outcome:
    try:
        make_private_directory(path.parent)
        # One gate for the whole ledger as well: two names of one worktree are two files.
        with FileLock(path.parent / ".lock", timeout=LOCK_TIMEOUT_SECONDS, mode=FILE_MODE), locked(path):
            unit = ledger.read_unit(path)
            if isinstance(unit, Broken):
                return _unusable(place, action, unit.reason)
            return act(unit or Unit(place.key))
    except (LedgerHeldError, Timeout, _DamagedError) as trouble:
        return _unusable(place, action, str(trouble))
    except OSError as error:
        return _unusable(place, action, f"{error.filename or path}: {error.strerror or error}")


class _DamagedError(Exception):
    """A unit that may be the very one asked about cannot be read."""


def _active_elsewhere(place: Place) -> Iterator[tuple[Path, Attempt]]:
    """Active attempts, and their files, of units that mean the same worktree: by another name such as a link, or in a
    ledger that another tool keeps for it."""
    directories = [place.directory, *map(ledger.ledger_directory, ledger_roots(place.path))]
    for directory in dict.fromkeys(map(os.path.realpath, directories)):
        for other in ledger.all_units(Path(directory)):
            if isinstance(other, Broken):
                raise _DamagedError(other.reason)
            own = other.key == place.key and directory == os.path.realpath(place.directory)
            if not own and _means_the_same(place, other):
                file = Path(directory, other.key.file_name)
                yield from ((file, attempt) for attempt in other.active)


def _means_the_same(place: Place, other: Unit) -> bool:
    if (other.key.scope, other.key.workflow) != (place.scope, place.workflow):
        return False
    resolved = os.path.realpath(other.target_path) == os.path.realpath(place.path)
    return resolved or other.key.target == place.key.target


def _chosen(unit: Unit, attempt_id: str | None) -> Attempt | None:
    return next((attempt for attempt in reversed(unit.active) if attempt_id in (None, attempt.id)), None)


def _none_active(place: Place, action: str, unit: Unit, attempt_id: str | None) -> Outcome:
    what = f"attempt {attempt_id} is not active" if attempt_id else "no active attempt"
    return _outcome(place, action, 1, "NO_ACTIVE_ATTEMPT", what, None, unit.active)


def _unusable(place: Place, action: str, reason: str) -> Outcome:
    return _outcome(place, action, 2, "LEDGER_UNUSABLE", reason, None, ())


def _outcome(
    place: Place,
    action: str,
    exit_code: int,
    decision: str,
    reason: str,
    attempt: Attempt | None,
    active: tuple[Attempt, ...],
) -> Outcome:
    key = place.key
    ids = [each.id for each in active]
    raw = attempt.raw if attempt else None
    return Outcome(exit_code, decision, reason, action, key.scope, key.target, key.workflow, raw, ids)
