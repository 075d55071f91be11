"""What a command says while it runs: pi's own JSON events where it writes them, plain lines otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import msgspec

from strawboss.heartbeat.record import one_line

# A line longer than that is not kept for reading; it goes to the output file like everything else.
LONGEST_LINE = 8 << 20
TAIL_LINES = 40
USAGE_PARTS = ("input", "output", "cacheRead", "cacheWrite")
DOING = {"write": "writing to", "edit": "editing", "read": "reading"}


@dataclass(slots=True)
class Listener:
    """Fed with lines of output. `tokens` used so far, `activity` for the heartbeat, `answer` for the task store.

    `finished` after a last word of the model: it will spend no more. `heard` is the size of all its output, in bytes.
    """

    tokens: int = 0
    activity: str = ""
    said: str | None = None
    failure: str | None = None
    finished: bool = False
    heard: int = 0
    _lines: list[str] | None = None

    def hear_lines(self, text: bytes) -> None:
        """Some whole lines at once. Of those without any event in them only the last few matter."""
        lines = text.split(b"\n")
        if b"{" not in text:
            lines = [line for line in lines if line.strip()][-TAIL_LINES:]
        for line in lines:
            self.hear(line)

    def hear(self, line: bytes) -> None:
        """One line of output, whatever it holds."""
        event = _event(line)
        if event is None:
            self._plain(line.decode("utf-8", "replace").rstrip())
        elif event.get("type") == "message_end":
            self._message(event.get("message"))
        elif event.get("type") == "tool_execution_start":
            self.activity = _doing(event)

    @property
    def answer(self) -> str:
        """The last thing pi said, or the last lines of a command that is not pi."""
        return self.said if self.said is not None else "\n".join(self._lines or [])

    def _plain(self, line: str) -> None:
        if line:
            self._lines = [*(self._lines or []), line][-TAIL_LINES:]
            self.activity = one_line(line)

    def _message(self, message: object) -> None:
        if not isinstance(message, dict) or message.get("role") != "assistant":
            return
        self.tokens += _usage(message.get("usage"))
        self.said = _text(message.get("content")) or self.said
        self.finished = message.get("stopReason") == "stop"
        failed = message.get("stopReason") in ("error", "aborted")
        self.failure = str(message.get("errorMessage") or message["stopReason"]) if failed else None


def _event(line: bytes) -> dict[str, Any] | None:
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) and isinstance(value.get("type"), str) else None


def _usage(usage: object) -> int:
    if not isinstance(usage, dict):
        return 0
    total = usage.get("totalTokens")
    return _count(total) if total is not None else sum(_count(usage.get(part)) for part in USAGE_PARTS)


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53 else 0


def _text(content: object) -> str:
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str)).strip()


def _doing(event: dict[str, Any]) -> str:
    tool, arguments = event.get("toolName"), event.get("args")
    path = arguments.get("path") if isinstance(arguments, dict) else None
    if isinstance(path, str) and tool in DOING:
        return one_line(f"{DOING[tool]} {PurePath(path)}")
    return one_line(f"running {tool}") if isinstance(tool, str) else "running a tool"
