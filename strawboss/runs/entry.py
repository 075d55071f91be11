"""One line of a session file as an `Entry`: the fields that tell how a turn stands, everything else skipped unread.

Source: interfaces of pi, "Session files". A line that is JSON but no entry (no id, members of other types) is as
unreadable as a torn one.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec

from strawboss.recovery.evidence import Entry

_NOTHING = msgspec.Raw(b"")
_NULL = b"null"


class _Arguments(msgspec.Struct):
    action: object = None
    reason: object = None


class _Block(msgspec.Struct):
    type: str = ""
    id: str = ""
    name: str = ""
    arguments: msgspec.Raw = _NOTHING


class _Message(msgspec.Struct, rename="camel"):
    role: str
    stop_reason: str | None = None
    error_message: str | None = None
    tool_call_id: str | None = None
    content: msgspec.Raw = _NOTHING


class _Line(msgspec.Struct, rename="camel"):
    type: str
    id: str
    timestamp: str = ""
    parent_id: str | None = None
    custom_type: str | None = None
    message: msgspec.Raw = _NOTHING
    target_id: str | None = None
    replacement: msgspec.Raw = _NOTHING


_lines = msgspec.json.Decoder(_Line)
_messages = msgspec.json.Decoder(_Message)
_contents = msgspec.json.Decoder(list[_Block] | str)
_arguments = msgspec.json.Decoder(_Arguments)


def decode_entry(line: bytes) -> Entry:
    """Raises ValueError or RecursionError when `line` is no entry."""
    written = _lines.decode(line)
    entry = Entry(written.id, written.parent_id, written.type, written.timestamp)
    if written.type == "message":
        return _with_message(entry, _messages.decode(written.message))
    if written.type == "custom_message":
        return replace(entry, custom_type=written.custom_type or "")
    if written.type == "context_edit" and bytes(written.replacement) == _NULL:
        return replace(entry, edits=written.target_id or "")
    return entry


def _with_message(entry: Entry, message: _Message) -> Entry:
    return replace(
        entry,
        role=message.role,
        stop_reason=message.stop_reason or "",
        error=message.error_message or "",
        calls=_calls(message.content) if message.role == "assistant" else (),
        answers=message.tool_call_id or "",
    )


def _calls(content: msgspec.Raw) -> tuple[tuple[str, str, str], ...]:
    blocks = _contents.decode(content)
    calls = [block for block in blocks if isinstance(block, _Block) and block.type == "toolCall"]
    return tuple((call.id, call.name, _purpose(call.arguments)) for call in calls)


def _purpose(arguments: msgspec.Raw) -> str:
    """What an intercom call or a question to a supervisor is for."""
    try:
        read = _arguments.decode(arguments)
    except (ValueError, RecursionError):
        return ""  # arguments that are no object say nothing about a purpose
    return next((value for value in (read.action, read.reason) if isinstance(value, str)), "")
