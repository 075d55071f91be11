"""One unit of work and its attempts, as JSON files other tools read and write too. A damaged file is never empty."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from strawboss.heartbeat.layout import LEDGER_DIRECTORY
from strawboss.heartbeat.utc import format_utc, parse_utc
from strawboss.system.json_files import Broken, read_object, write_json

# Ours beside the other tools' key, whose lower case cannot be turned into a path again.
PATH_KEY = "targetPath"
FINISHED = frozenset({"succeeded", "failed", "cancelled", "blocked"})
SEPARATOR = "\x1f"
_ROW_FIELDS = ("attemptId", "sourceRevision", "trigger", "status", "startedAt")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One row. `raw` keeps what other tools put there; `started` is None when its time cannot be read."""

    raw: dict[str, Any]

    @property
    def id(self) -> str:
        return str(self.raw["attemptId"])

    @property
    def active(self) -> bool:
        # A status word of a newer tool may well mean a running worker.
        return self.raw["status"] not in FINISHED

    @property
    def started(self) -> datetime | None:
        return parse_utc(self.raw["startedAt"])

    @property
    def worker_id(self) -> str | None:
        worker = self.raw.get("workerId")
        return worker if isinstance(worker, str) and worker else None


@dataclass(frozen=True, slots=True)
class UnitKey:
    """What a unit is the unit of. `target` is normalised, see `target_key`."""

    scope: str
    target: str
    workflow: str

    @property
    def file_name(self) -> str:
        return (
            hashlib.sha256(SEPARATOR.join((self.scope, self.target, self.workflow)).encode()).hexdigest()
            + ".json"
        )


@dataclass(frozen=True, slots=True)
class Unit:
    key: UnitKey
    attempts: tuple[Attempt, ...] = ()
    raw: dict[str, Any] = field(default_factory=dict)

    @property
    def active(self) -> tuple[Attempt, ...]:
        return tuple(attempt for attempt in self.attempts if attempt.active)

    @property
    def target_path(self) -> str:
        return str(self.raw.get(PATH_KEY) or self.key.target)

    def row(self, attempt_id: str) -> Attempt:
        return next(attempt for attempt in self.attempts if attempt.id == attempt_id)

    def number(self, name: str) -> float:
        """A counter of the unit; 0 when absent."""
        value = self.raw.get(name)
        return float(value) if isinstance(value, (int, float)) else 0.0


def target_key(target: str, project_root: Path) -> str:
    """The spelling that makes one worktree one unit: absolute below the project, lower case, `/`, links as given."""
    absolute = os.path.abspath(os.path.join(project_root, target))  # noqa: PTH100, PTH118 - no links resolved
    return absolute.replace("\\", "/").rstrip("/").lower() or "/"


def ledger_directory(project_root: Path) -> Path:
    return project_root / LEDGER_DIRECTORY


def read_unit(path: Path) -> Unit | Broken | None:
    """None when there is no such file. One row that cannot be understood spoils the unit: it may be the active one."""
    content = read_object(path)
    if content is None or isinstance(content, Broken):
        return content and Broken(f"{path}: {content.reason}")
    key = UnitKey(*(str(content.get(name)) for name in ("scopeId", "targetId", "workflowId")))
    rows = content.get("attempts")
    if not isinstance(rows, list) or not all(_is_row(row) for row in rows):
        return Broken(f"{path}: attempts are not rows with {', '.join(_ROW_FIELDS)}")
    return Unit(key, tuple(Attempt(row) for row in rows), content)


def _is_row(row: object) -> bool:
    return isinstance(row, dict) and all(isinstance(row.get(name), str) and row[name] for name in _ROW_FIELDS)


def all_units(directory: Path) -> Iterator[Unit | Broken]:
    """Every unit of a ledger, damaged ones as such; nothing when there is no ledger."""
    try:
        names = sorted(os.listdir(directory))  # noqa: PTH208 - a missing directory must raise here, not while iterating
    except FileNotFoundError:
        return
    except OSError as error:
        yield Broken(f"{directory}: {error.strerror or error}")
        return
    for name in names:
        if re.fullmatch(r"[0-9a-f]{64}\.json", name) and (unit := read_unit(directory / name)) is not None:
            yield unit


def write_unit(directory: Path, unit: Unit, now: datetime) -> None:
    """Raises OSError; the old content stays then."""
    write_json(directory / unit.key.file_name, _content(unit, now))


def _content(unit: Unit, now: datetime) -> dict[str, Any]:
    fresh = {
        "schemaVersion": 1,
        "phaseId": "default",
        "failedAttemptCount": 0,
        "sameFailureCounts": {},
        "totalElapsedSeconds": 0,
        "totalToolCallCount": 0,
        "totalHostTokenCount": None,
        "lastFailure": None,
        "lastMaterialDelta": [],
        "lastSourceRevision": None,
        "blockedDecision": None,
        "resumeCondition": None,
        "override": None,
    }
    return (
        fresh
        | unit.raw
        | {
            "scopeId": unit.key.scope,
            "targetId": unit.key.target,
            "workflowId": unit.key.workflow,
            "attempts": [attempt.raw for attempt in unit.attempts],
            "updatedAt": format_utc(now),
        }
    )


def new_attempt(
    revision: str, now: datetime, worker_id: str | None, external_run_id: str | None, trigger: str
) -> Attempt:
    return Attempt(
        {
            "attemptId": f"att-{secrets.token_hex(8)}",
            "sourceRevision": revision,
            "trigger": trigger,
            "status": "running",
            "failure": None,
            "materialDelta": [],
            "startedAt": format_utc(now),
            "endedAt": None,
            "elapsedSeconds": 0,
            "toolCallCount": 0,
            "hostTokenCount": None,
            "workerId": worker_id,
            "externalRunId": external_run_id,
        }
    )


def begun(unit: Unit, attempt: Attempt) -> Unit:
    return replace(unit, attempts=(*unit.attempts, attempt))


def closed(unit: Unit, attempt: Attempt, status: str, now: datetime) -> Unit:
    """The unit with one attempt ended. A cancelled attempt is no failure and costs none of the unit's budgets."""
    elapsed = max(0.0, (now - attempt.started).total_seconds()) if attempt.started else 0.0
    ended = Attempt(
        attempt.raw | {"status": status, "endedAt": format_utc(now), "elapsedSeconds": round(elapsed)}
    )
    raw = unit.raw if status == "cancelled" else unit.raw | _totals(unit, attempt, status, elapsed)
    return replace(
        unit, attempts=tuple(ended if each == attempt else each for each in unit.attempts), raw=raw
    )


def _totals(unit: Unit, attempt: Attempt, status: str, elapsed: float) -> dict[str, Any]:
    return {
        "totalElapsedSeconds": round(unit.number("totalElapsedSeconds") + elapsed),
        "failedAttemptCount": int(unit.number("failedAttemptCount")) + (status in ("failed", "blocked")),
        "lastSourceRevision": attempt.raw["sourceRevision"],
    }
