"""Worktrees, records and moments the heartbeat tests begin with."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.review import LEASE_BEGIN, LEASE_END
from strawboss.heartbeat.utc import format_utc

NOW = datetime(2026, 10, 3, 12, 0, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


def ago(seconds: float = 0, *, minutes: float = 0, hours: float = 0, now: datetime = NOW) -> str:
    return format_utc(now - timedelta(seconds=seconds, minutes=minutes, hours=hours))


def content(agent: str = "leaf-7", **changes: Any) -> dict[str, Any]:
    """A sound record; a change to `...` leaves the field out."""
    fields = {
        "agent_id": agent,
        "parent_id": "run-42",
        "last_heartbeat_at": ago(60),
        "last_message": "poll 3 of 20",
        "phase": "polling",
        "terminal_state": None,
    } | changes
    return {name: value for name, value in fields.items() if value is not ...}


def put(path: Path, what: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(what if isinstance(what, bytes) else json.dumps(what).encode())
    return path


def beat(root: Path, agent: str = "leaf-7", **changes: Any) -> Path:
    """A worktree's record as any tool may have written it."""
    return put(Worktree(root).heartbeat_file(agent), content(agent, **changes))


def steer(agent: str = "leaf-7", **changes: Any) -> dict[str, Any]:
    return {
        "schema": "deft.subagent.steer.v1",
        "agent_id": agent,
        "steer_id": "s-1",
        "written_at": ago(60),
        "expires_at": ago(minutes=-29),
        "writer_kind": "dispatching-parent",
        "writer_id": "run-42",
        "kind": "note",
        "text": "which step?",
    } | changes


def ack(agent: str = "leaf-7", **changes: Any) -> dict[str, Any]:
    fields = {
        "schema": "deft.subagent.steer-ack.v1",
        "agent_id": agent,
        "steer_id": "s-1",
        "acked_at": ago(30),
    }
    return fields | changes


def put_steer(root: Path, agent: str = "leaf-7", **changes: Any) -> Path:
    return put(Worktree(root).steer_directory / f"{agent}.json", steer(agent, **changes))


def put_ack(root: Path, agent: str = "leaf-7", **changes: Any) -> Path:
    return put(Worktree(root).steer_directory / f"{agent}.ack.json", ack(agent, **changes))


def in_use(root: Path) -> Path:
    """A worktree's status directory, made as a dispatcher makes it."""
    directory = Worktree(root).status_directory
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def tree(root: Path) -> dict[str, bytes]:
    """Everything below a directory, to show that something changed nothing."""
    return {
        str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()
    }


def lease_comment(**changes: str) -> str:
    """A pull request's comment that carries a review lease."""
    fields = {
        "owner": "session-1",
        "monitor_agent_id": "monitor-1",
        "head_sha": "abc",
        "started_at": ago(60),
        "expires_at": ago(minutes=-29),
        "platform_primitive": "spawn_subagent",
        "ended_at": "",
    } | changes
    lines = "\n".join(f"- {name}: {value}" for name, value in fields.items())
    return f"intro\n{LEASE_BEGIN}\n{lines}\n{LEASE_END}\nmore"


def dead_pid() -> int:
    """The pid of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid
