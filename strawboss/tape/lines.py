"""A tape's lines: JSON, one object or number a line, so that a person can read them and a torn end is only its own loss.

| line | what |
|---|---|
| `{"format": 1, "strawboss": …, "launcher": …, "settings": …, "memory": …, "known": […], "every": ms}` | a segment begins |
| `{"at": [wall, monotonic], "asked": change, "answers": {place: change}, "runs": change}` | a look |
| `{"asked": …, "answers": …, "runs": …}` | the same look goes on: a line is written before each effect |
| `3` or `[3, -1]` | a look like the one before, so many milliseconds later or earlier than due (wall, monotonic) |

A look has ended with the line that has `runs`: what it reports of each run. Changes are those of `delta`: `asked` against
the commands of the look before, an answer against the last answer to that command (an effect's is written whole), `runs`
against the reports before. Texts that the core words itself (of messages and notices) are not kept: it words them again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_args

import msgspec

from strawboss.recovery import commands as c
from strawboss.recovery.commands import Command, Result, SessionState
from strawboss.recovery.evidence import (
    Clock,
    Forks,
    Holders,
    Identity,
    Panes,
    Processes,
    Registry,
    Roster,
    RunFiles,
    Runs,
    Tail,
    Transcript,
)
from strawboss.recovery.verdict import Unknown
from strawboss.tape.codec import plain

FORMAT = 1
NOT_KEPT = frozenset({"text"})

# The type of each command's answer, by the command's name: the table of `recovery/commands.py`.
ANSWERS: Mapping[str, Any] = {
    "ReadRegistry": Registry | Unknown,
    "ReadRuns": Runs | Unknown,
    "ReadRun": RunFiles,
    "ReadTranscript": Transcript | Unknown,
    "ListSessions": Roster | Unknown,
    "ListPanes": Panes | Unknown,
    "ProcessInfo": Processes | Unknown,
    "ReadTail": Tail | Unknown,
    "FindForks": Forks | Unknown,
    "FindHolders": Holders | Unknown,
    "Identify": Identity | Unknown | None,
    "ReadSession": SessionState | Unknown,
    "WriteKey": bool | Unknown,
    "ClosePane": Result,
    "SendIntercom": Result,
    "TellLauncher": Result,
    "Notify": type(None),
    "Pause": float,
}
READS = frozenset(get_args(c.Read))
# What stays true of a look that did not ask again; all else is asked again before anything rests on it.
CARRIED: tuple[type, ...] = (c.ReadRegistry, c.ReadRuns, c.ReadRun, c.ReadTranscript)


def spoken(command: Command) -> list[Any]:
    """A command as the tape has it: its name and its members, but for the texts."""
    members = {
        one.name: plain(getattr(command, one.name)) for one in fields(command) if one.name not in NOT_KEPT
    }
    return [type(command).__name__, members] if members else [type(command).__name__]


def encode(line: Any) -> bytes:
    """One line. Names of files may hold what is no UTF-8: such a line is written in ASCII with escapes."""
    try:
        return msgspec.json.encode(line) + b"\n"
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(line), separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> Any:
    """What a line says; raises ValueError for one that is torn or no JSON."""
    try:
        return msgspec.json.decode(line)
    except msgspec.DecodeError:
        return json.loads(line)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def kept_clock(wall: float, monotonic: float) -> Clock:
    """A clock of whole milliseconds, which a quiet look's line can hold."""
    return Clock(milliseconds(wall) / 1000, milliseconds(monotonic) / 1000)
