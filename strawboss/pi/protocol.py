"""What is said between the extension and the process: JSON-RPC 2.0, one object a line (docs/design.md#the-extension).

| the process asks | the extension answers |
|---|---|
| `registry.read` | `{readable, ids}` |
| `session.state` | `{idle, compacting}` |
| `session.append {data}` | `"appended"` |
| `session.tell {id, runs, text}` | `"told"`, or `"compacting"`: not now |
| `ui.notify {level, text}` · `ui.status {text or null}` | `true` |

The process says `process.looks {every}`: the seconds between two looks, 0 when it makes none. The extension takes the
requests of a look as its sign, and replaces a process that gives none for `SILENT_LOOKS` such intervals.

The extension says `session.started`, `session.entry`, `session.settled`, `session.ended`, and asks `status {run}`
(lines: of all runs, or of one in plain words) and `view` (rows to choose from, see `Row`).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

PROTOCOL = 1  # another number on one side, and nothing is done
SILENT_LOOKS = 4  # intervals without a look, after which the process hangs; the extension counts them too


class Fault(msgspec.Struct, frozen=True):
    message: str = "no reason given"


class Message(msgspec.Struct, frozen=True):
    """Any line from the extension: a request or notification has a `method`, an answer has not."""

    id: int | None = None
    method: str | None = None
    params: msgspec.Raw = msgspec.Raw(b"{}")
    result: msgspec.Raw = msgspec.Raw(b"null")
    error: Fault | None = None


class Started(msgspec.Struct, frozen=True):
    """`session.started`. `file`: None when pi keeps no session file; `dir`: where pi keeps sessions now."""

    protocol: int
    id: str
    reason: str = ""
    file: str | None = None
    dir: str | None = None
    name: str = ""
    cwd: str = ""
    pane: str | None = None
    pids: Mapping[str, int] = {}
    versions: Mapping[str, str] = {}
    mode: str = ""


class ProtocolOnly(msgspec.Struct, frozen=True):
    """The one field of `session.started` that every version has."""

    protocol: int


class Entry(msgspec.Struct, frozen=True):
    """`session.entry`: the session has taken the message with this id."""

    id: str


class Asked(msgspec.Struct, frozen=True):
    """`status`: of all runs, or of one."""

    run: str = ""


class Row(msgspec.Struct, frozen=True):
    """Of the answer to `view`: a line, and what it tells of. `command`: what a person is to do about it, where there is
    something."""

    text: str
    run: str = ""
    command: str = ""


class Registry(msgspec.Struct, frozen=True):
    readable: bool
    ids: tuple[str, ...] = ()


class State(msgspec.Struct, frozen=True):
    idle: bool
    compacting: bool


def request(number: int, method: str, params: Mapping[str, object]) -> bytes:
    return _line({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def notification(method: str, params: Mapping[str, object]) -> bytes:
    return _line({"jsonrpc": "2.0", "method": method, "params": params})


def answer(number: int, result: object) -> bytes:
    return _line({"jsonrpc": "2.0", "id": number, "result": result})


def _line(message: Mapping[str, object]) -> bytes:
    return msgspec.json.encode(message) + b"\n"
