"""What the marked lines of a launcher's session file add up to. Pure.

Source: docs/design.md#keys, docs/design.md#reading-what-others-wrote.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import msgspec

from strawboss.recovery.evidence import KeyEntry, Resume, Transcript
from strawboss.runs.records import Piece, pieces
from strawboss.runs.torn_keys import KNOWN_KEYS, runs_in

NOT_A_KEY = frozenset({"at", "why", "terminal", "pane", "v"})

# What every line of use bears, few so that a large file is searched quickly. Zero bytes are what a power loss leaves.
CLUES = (b'"customType"', b'"launchScriptFile"', b"\0")
# What makes a line with a clue worth parsing.
MARKS = (b'"straw-boss"', b'"subagent_result"', b'"subagent_ping"', b'"launchScriptFile"', b"\0")
_RESULT_MARKS = (b'"subagent_result"', b'"subagent_ping"')
_RESULT_HEADS = tuple(b'{"type":"custom_message","customType":' + mark for mark in _RESULT_MARKS)
_SESSION_MEMBER = re.compile(rb'"sessionFile":("(?:[^"\\]|\\.)*")')
_SESSION_TEXT = re.compile(rb'Session: ((?:[^"\\]|\\[^n])+)(?:\\n|")')
_LAUNCHED_RUN = re.compile(rb'"details":\{"id":"([0-9A-Za-z-]{1,64})"')

Record = Mapping[str, Any]


def matters(line: bytes) -> bool:
    """Whether a line with a clue is about runs, or torn so that it may have been."""
    return any(mark in line for mark in MARKS) or not line.rstrip().endswith(b"}")


@dataclass(slots=True)
class Findings:
    """A transcript as far as it has been read. `resolve` gives paths their comparable form.

    `at`: how many records and fragments have been taken, which is the place of the last one.
    """

    resolve: Callable[[str], str]
    keys: list[KeyEntry] = field(default_factory=list)
    results: set[str] = field(default_factory=set)
    pings: set[str] = field(default_factory=set)
    told: list[str] = field(default_factory=list)
    worktrees: set[str] = field(default_factory=set)
    torn_results: set[str] = field(default_factory=set)
    torn_keys: set[str] = field(default_factory=set)
    launched_since: set[str] = field(default_factory=set)
    resumes: list[Resume] = field(default_factory=list)
    results_at: dict[str, int] = field(default_factory=dict)
    torn_results_at: dict[str, int] = field(default_factory=dict)
    # Session files launched under a name and task; names and tasks of results that name no session file, and where.
    launched: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    nameless: dict[tuple[str, str], int] = field(default_factory=dict)
    at: int = 0

    def copy(self) -> Findings:
        return deepcopy(self, {id(self.resolve): self.resolve})

    def freeze(self) -> Transcript:
        sure, unsure = self._results_by_name()
        return Transcript(
            keys=tuple(self.keys),
            results=frozenset(self.results | sure.keys()),
            pings=frozenset(self.pings),
            told=tuple(self.told),
            worktrees=frozenset(self.worktrees),
            torn_results=frozenset(self.torn_results | unsure.keys()),
            torn_keys=frozenset(self.torn_keys),
            launched_since=frozenset(self.launched_since),
            resumes=tuple(self.resumes),
            results_at=_latest(self.results_at, sure),
            torn_results_at=_latest(self.torn_results_at, unsure, self._of_resumes_by_name()),
        )

    def _results_by_name(self) -> tuple[dict[str, int], dict[str, int]]:
        """Session files of results that name none, from the launch of that name and task: sure ones, unsure ones."""
        sure: dict[str, int] = {}
        unsure: dict[str, int] = {}
        for named, at in self.nameless.items():
            files = self.launched.get(named, set())
            found = sure if len(files) == 1 else unsure
            found.update({file: max(at, found.get(file, 0)) for file in files})
        return sure, unsure

    def _of_resumes_by_name(self) -> dict[str, int]:
        """A result that names no session file may be that of any resume of its name before it."""
        return _latest(
            *(
                {resume.session_file: at}
                for (name, _), at in self.nameless.items()
                for resume in self.resumes
                if resume.name == name and resume.at < at
            )
        )

    def take(self, line: bytes) -> None:
        """Add what one line says, whole or damaged. Raises OSError, and may then have added a part of it."""
        try:
            record = msgspec.json.decode(line)
        except (ValueError, RecursionError):
            for piece in pieces(line):
                self._piece(piece)
        else:
            self._record(record)

    def _piece(self, piece: Piece) -> None:
        try:
            record = json.loads(piece.content) if piece.whole else None
        except (ValueError, RecursionError):
            record = None
        if record is None:
            self._fragment(piece.content)
        else:
            self._record(record)

    def _record(self, record: Any) -> None:
        self.at += 1
        match record:
            case {"type": "custom_message", "customType": "subagent_result"}:
                self._result(self.results, record)
            case {"type": "custom_message", "customType": "subagent_ping"}:
                self._result(self.pings, record)
            case {"type": "custom_message", "customType": "straw-boss", "details": {"runs": [*runs]}}:
                self.told += dict.fromkeys(run for run in runs if isinstance(run, str))
            case {"type": "custom", "customType": "straw-boss", "data": dict() as data}:
                self.keys.extend(_key_entries(data))
            case {
                "type": "message",
                "message": {"role": "toolResult", "toolName": "subagent", "details": dict() as details},
            }:
                self._launch(details)
            case {
                "type": "message",
                "message": {
                    "role": "toolResult",
                    "toolName": "subagent_resume",
                    "details": dict() as details,
                },
            }:
                self._resume(details)

    def _result(self, named: set[str], record: Record) -> None:
        details = record.get("details")
        details = details if isinstance(details, dict) else {}
        file = session_file(details, record.get("content"))
        if file:
            resolved = self._resolved(file)
            named.add(resolved)
            self.results_at[resolved] = self.at
        else:
            self.nameless[str(details.get("name")), str(details.get("task"))] = self.at

    def _launch(self, details: Record) -> None:
        file, run = details.get("sessionFile"), details.get("id")
        if isinstance(file, str):
            named = str(details.get("name")), str(details.get("task"))
            self.launched.setdefault(named, set()).add(self._resolved(file))
        if isinstance(run, str):
            self._launched(run)
        if isinstance(run, str) and details.get("worktree") is not None:
            self.worktrees.add(run)

    def _resume(self, details: Record) -> None:
        match details:
            case {"id": str() as run, "sessionPath": str() as file, "launchScriptFile": str() as script}:
                name = details.get("name")
                resume = Resume(
                    run, self._resolved(file), script, self.at, name if isinstance(name, str) else ""
                )
                self.resumes.append(resume)
                self._launched(run)

    def _launched(self, run: str) -> None:
        if self.torn_keys:
            self.launched_since.add(run)

    def _fragment(self, fragment: bytes) -> None:
        """Nothing can be read from it, but it may have been a result, a key or the launch of a worktree run."""
        self.at += 1
        results = _results_in(fragment)
        if results:
            files = {self._resolved(file) for file in _session_files_in(fragment)}
            files = files if len(files) >= results else {*files, ""}
            self.torn_results |= files
            self.torn_results_at.update(dict.fromkeys(files, self.at))
        named = runs_in(fragment, {entry.run for entry in self.keys if entry.key != "seen"})
        if named:
            self.torn_keys |= named
            self.launched_since.clear()
        if b'"launchScriptFile"' in fragment and b'"worktree"' in fragment:
            self.worktrees.update(run.decode() for run in _LAUNCHED_RUN.findall(fragment))

    def _resolved(self, path: str) -> str:
        """Raises OSError while it cannot be told which file that is."""
        try:
            return self.resolve(path)
        except (ValueError, RuntimeError):
            return path  # no file can have that path, so no run has it


def _latest(*places: Mapping[str, int]) -> dict[str, int]:
    latest: dict[str, int] = {}
    for file, at in (item for each in places for item in each.items()):
        latest[file] = max(at, latest.get(file, 0))
    return latest


def session_file(details: Record, content: object) -> str | None:
    """The child a result speaks of: `sessionFile`, else `facts.sessionFile`, else the text's last `Session: ` line."""
    facts = details.get("facts")
    for file in (details.get("sessionFile"), facts.get("sessionFile") if isinstance(facts, dict) else None):
        if isinstance(file, str) and file:
            return file
    lines = [
        line.removeprefix("Session: ") for line in _text(content).split("\n") if line.startswith("Session: ")
    ]
    return lines[-1] if lines else None


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _key_entries(data: Record) -> Iterable[KeyEntry]:
    """The key is a known member, else the first that is not known to be something else (a newer version's key)."""
    named = [key for key in data if key in KNOWN_KEYS] or [key for key in data if key not in NOT_A_KEY]
    for key in named[:1]:
        if isinstance(data[key], str):
            yield KeyEntry(key, data[key], {other: value for other, value in data.items() if other != key})


def _results_in(fragment: bytes) -> int:
    """How many results the fragment may hold: by their marks, as the beginning of one, or as one without beginning."""
    marks = sum(fragment.count(mark) for mark in _RESULT_MARKS)
    begun = any(head.startswith(fragment) for head in _RESULT_HEADS)
    beheaded = not fragment.startswith(b'{"type":"') and b'"sessionFile":"' in fragment
    return marks or int(begun or beheaded)


def _session_files_in(fragment: bytes) -> Iterable[str]:
    members = _SESSION_MEMBER.findall(fragment)
    for quoted in members or [b'"%b"' % text for text in _SESSION_TEXT.findall(fragment)]:
        try:
            yield json.loads(quoted)
        except ValueError:
            continue
