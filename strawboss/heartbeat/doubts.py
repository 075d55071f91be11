"""What stands beside a verdict: reasons to doubt an old beat. Shown, never counted: the exit code is the contract's."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from strawboss.heartbeat.clocks import SHORTEST_SLEEP_SECONDS, SleepClock, slept_since
from strawboss.heartbeat.gh import Ask
from strawboss.heartbeat.layout import worktree_of
from strawboss.heartbeat.record import Record
from strawboss.heartbeat.utc import age_text, parse_utc

# So old that rather nobody updates this file any more than that a worker just died.
SUSPECT_FACTOR = 10
GIT_TIMEOUT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Doubts:
    """Facts about a stale record. `written_seconds_ago` is by the file's own time; None is unknown."""

    written_seconds_ago: float | None = None
    slept_seconds: float | None = None


def gather(record: Record, now: datetime, clock: SleepClock | None) -> Doubts:
    """Only a stale record is worth the look."""
    if not record.is_stale:
        return Doubts()
    with suppress(OSError):
        written = now.timestamp() - Path(record.path).stat().st_mtime
        return Doubts(written, slept_since(record.extra, clock))
    return Doubts(None, slept_since(record.extra, clock))


def notes(record: Record, evidence: Doubts, stale_after: float) -> Iterator[str]:
    """Remarks for the report, most telling first."""
    age = record.age_seconds or 0.0
    slept, written = evidence.slept_seconds, evidence.written_seconds_ago
    if record.is_stale and slept is not None and slept >= SHORTEST_SLEEP_SECONDS:
        awake = age - slept
        verdict = (
            "not stale by waking time; look again in a few minutes"
            if awake <= stale_after
            else "stale anyway"
        )
        yield f"asleep: the machine slept {age_text(slept)} since that beat ({verdict})"
    if record.is_stale and written is not None and written <= stale_after:
        yield f"clock skew: the file was written {age_text(written)} ago, its own time says {age_text(age)}"
    if record.is_stale and age > SUSPECT_FACTOR * stale_after:
        yield f"suspect source: more than {SUSPECT_FACTOR} thresholds old; does anybody still write this file?"


def recent_git_activity(scratch_directory: str, now: datetime, within: float) -> bool | None:
    """Whether the worktree that owns a status directory had a commit lately; None when that cannot be told."""
    root = worktree_of(Path(scratch_directory))
    if root is None or not (root / ".git").exists():
        return None
    try:
        answer = subprocess.run(
            ["git", "-C", str(root), "log", "-1", "--format=%ct"],
            capture_output=True,
            text=True,
            timeout=GIT_TIMEOUT_SECONDS,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
            check=True,
        )
        return now.timestamp() - float(answer.stdout) <= within
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def recent_pull_request_activity(ask: Ask, number: int, now: datetime, within: float) -> bool | None:
    """Whether a pull request of the worktree `ask` runs in was touched lately; None when GitHub does not say."""
    answer = ask(["api", f"repos/{{owner}}/{{repo}}/pulls/{number}", "--jq", ".updated_at"])
    touched = parse_utc(answer.output) if answer.code == 0 else None
    return (now - touched).total_seconds() <= within if touched else None
