"""How names, times, reasons and calls are worded in every text (docs/design.md#texts).

Names and paths come from other programs: they are quoted as JSON strings, on one line, and capped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime

NAME_LIMIT = 80  # characters of a name that is quoted
PLAIN_TOOL = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
REASON_LIMIT = 300  # characters of a reason that is quoted
UNKNOWN_TIME = "an unknown time"
ISO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)", re.ASCII)


def quoted(text: str, limit: int = NAME_LIMIT) -> str:
    """One line, capped, as a JSON string: untrusted text cannot end its quotes or add a line."""
    return exactly(one_line(text, limit))


def exactly(value: object) -> str:
    """As JSON, to be passed on as it is; what cannot be printed (line ends, escapes, lone surrogates) is escaped."""
    text = json.dumps(value, ensure_ascii=False)
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in text)


def reason(why: str) -> str:
    """Another program's words inside a sentence of ours: one printable line, capped."""
    return "".join(filter(str.isprintable, one_line(why, REASON_LIMIT)))


def one_line(text: str, limit: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def iso(wall: float) -> str:
    """Epoch seconds as an ISO time in UTC, whole seconds; a time no calendar has is unknown."""
    try:
        return datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return UNKNOWN_TIME


def step_time(at: str) -> str:
    return at if ISO_TIME.fullmatch(at) else UNKNOWN_TIME


def tool(name: str) -> str:
    """Only plain tool names are quoted."""
    return name if PLAIN_TOOL.fullmatch(name) else "a tool"


def launcher_name(name: str, session: str) -> str:
    address = f"pi-intercom session {exactly(session)}"
    return f"{quoted(name)} ({address})" if name else address


def times(number: int) -> str:
    return {1: "once", 2: "twice", 3: "three times"}.get(number, f"{number} times")


def count_of_runs(number: int) -> str:
    return "one subagent run" if number == 1 else f"{number} subagent runs"


def resume_by_hand(sessions: Iterable[tuple[str, str]]) -> str:
    calls = [f"subagent_resume {exactly({'sessionPath': file})}" for _, file in sessions]
    return "To resume by hand: " + "; ".join(calls)
