"""One line of a session file as an `Entry`: the fields that tell how a turn stands, everything else skipped unread.

Source: docs/design.md#what-lies-where. A line that is JSON but no entry (no id, members of other types) is as
unreadable as a torn one.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec

from strawboss.recovery.evidence import Entry

# Members whose type pi may choose freely: decoded for what is of use, whatever else they are.
_Other = list[object] | str | float | bool | None
_NULL = b"null"


class _Arguments(msgspec.Struct):
    action: object = None
    reason: object = None


class _Block(msgspec.Struct):
    type: str = ""
    id: str = ""
    name: str = ""
    arguments: _Arguments | _Other = None


class _Message(msgspec.Struct, rename="camel"):
    role: str = ""
    stop_reason: str | None = None
    error_message: str | None = None
    tool_call_id: str | None = None
    content: list[_Block] | str | None = None


class _Line(msgspec.Struct, rename="camel"):
    type: str
    id: str
    timestamp: str = ""
    parent_id: str | None = None
    custom_type: str | None = None
    message: _Message | _Other = None
    target_id: str | None = None
    replacement: msgspec.Raw = msgspec.Raw(b"")


_lines = msgspec.json.Decoder(_Line)


def decode_entry(line: bytes) -> Entry:
    """Raises ValueError or RecursionError when `line` is no entry."""
    written = _lines.decode(line)
    entry = Entry(written.id, written.parent_id, written.type, written.timestamp)
    if written.type == "message":
        return _with_message(entry, written.message)
    if written.type == "custom_message":
        return replace(entry, custom_type=written.custom_type or "")
    if written.type == "context_edit" and bytes(written.replacement) == _NULL:
        return replace(entry, edits=written.target_id or "")
    return entry


def _with_message(entry: Entry, message: object) -> Entry:
    if not isinstance(message, _Message) or not message.role:
        raise ValueError("a message entry without a message")
    blocks = message.content if isinstance(message.content, list) and message.role == "assistant" else []
    return replace(
        entry,
        role=message.role,
        stop_reason=message.stop_reason or "",
        error=message.error_message or "",
        calls=tuple(
            (call.id, call.name, _purpose(call.arguments)) for call in blocks if call.type == "toolCall"
        ),
        answers=message.tool_call_id or "",
    )


def _purpose(arguments: object) -> str:
    """What an intercom call or a question to a supervisor is for."""
    values = (arguments.action, arguments.reason) if isinstance(arguments, _Arguments) else ()
    return next((value for value in values if isinstance(value, str)), "")
