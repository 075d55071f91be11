"""Files as pi and pi-herdr-agents write them, for tests: session lines, launch scripts, activity files."""

from __future__ import annotations

import json
import os
from itertools import count
from pathlib import Path
from typing import Any

SESSION = "01a23392-c4f6-76a6-87c2-4d480b13177c"
AT = "2026-12-01T21:47:48.472Z"
LONG_AGO = 1_700_000_000
CHILD = "/s/2026-12-01T21-47-46-949Z_a213437c-1a54df95-6a7903a4-264c.jsonl"
RUN = "a213437c"

Record = dict[str, Any]
_numbers = count()


def text(*records: Record) -> bytes:
    """The lines of a session file."""
    return b"".join(json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records)


def header(session: str = SESSION) -> Record:
    return {"type": "session", "version": 3, "id": session, "timestamp": AT, "cwd": "/w"}


def entry(kind: str, parent: str | None = None, id: str | None = None, **members: Any) -> Record:
    own = id or f"{next(_numbers):08x}"
    return {"type": kind, **members, "id": own, "parentId": parent, "timestamp": AT}


def message(role: str, parent: str | None = None, id: str | None = None, **members: Any) -> Record:
    return entry("message", parent, id, message={"role": role, **members})


def chain(*records: Record) -> tuple[Record, ...]:
    """The same records, each hanging off the one before."""
    parents = [None, *(record["id"] for record in records)]
    return tuple({**record, "parentId": parent} for record, parent in zip(records, parents, strict=False))


def result(file: str | None = CHILD, kind: str = "subagent_result", **details: Any) -> Record:
    details = {**details, "sessionFile": file} if file else details
    return entry("custom_message", customType=kind, content="[result text]", display=True, details=details)


def key(**data: Any) -> Record:
    return entry("custom", customType="straw-boss", data=data)


def launched(run: str, file: str = CHILD, **details: Any) -> Record:
    details = {
        "id": run,
        "name": "Beta",
        "task": "t",
        "sessionFile": file,
        "launchScriptFile": "/a/b.sh",
        **details,
    }
    return message("toolResult", toolCallId="c1", toolName="subagent", content=[], details=details)


def resumed(run: str, file: str = CHILD, **details: Any) -> Record:
    details = {
        "id": run,
        "name": "Beta",
        "sessionPath": file,
        "launchScriptFile": "/a/beta-resume-1.sh",
        "status": "started",
        **details,
    }
    return message("toolResult", toolCallId="c1", toolName="subagent_resume", content=[], details=details)


def activity(run: str = RUN, **members: Any) -> Record:
    written = {
        "version": 1,
        "runningChildId": run,
        "createdAt": 1,
        "updatedAt": 1796161668478,
        "sequence": 13,
    }
    written |= {"latestEvent": "agent_end", "phase": "waiting", "agentActive": False, "toolActive": False}
    return written | members


def quoted(value: str) -> str:
    """As pi-herdr-agents quotes for the shell."""
    return "'" + value.replace("'", "'\\''") + "'"


def script(
    run: str = RUN,
    session: str = CHILD,
    name: str = "Beta",
    title: str = "# Subagent launch script for",
    surface: str = "w1:p3",
    task: str = "@/a/context/beta.md",
    **environment: str,
) -> str:
    """A launch script; `environment` adds to the assignments, or replaces one of the same name."""
    assigned = {
        "PI_SUBAGENT_NAME": quoted(name),
        "PI_SUBAGENT_AUTO_EXIT": "1",
        "PI_SUBAGENT_SESSION": quoted(session),
        "PI_SUBAGENT_ID": quoted(run),
        "PI_SUBAGENT_SURFACE": quoted(surface),
        **environment,
    }
    words = " ".join(f"{key}={value}" for key, value in assigned.items())
    return (
        f"#!/bin/bash\n{title} {name}\n# Generated: 2026-12-01T21:47:46.961Z\n# Session: {session}\n"
        f"# Surface: {surface}\ncd '/w' && {words} pi --session {quoted(session)} -e '/x.ts' {quoted(task)}; "
        "echo '__SUBAGENT_DONE_'$?'__'"
    )


def settle(*paths: Path) -> None:
    """Give files the age at which an unchanged signature proves an unchanged content."""
    for path in paths:
        os.utime(path, (LONG_AGO, LONG_AGO))
