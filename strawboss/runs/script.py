"""What a launch script says, header and command checked against each other.

Source: docs/design.md#reading-what-others-wrote.
Names and tasks in it are raw text of a model: a newline in a name adds header lines, a task may hold fake assignments.
So nothing is searched for. The header is the leading comment block, the first line of a key counts; the command is
read by a shell tokenizer and must be what pi-herdr-agents writes: `cd <dir> &&`, assignments, `pi`. What comes after
the word `pi` is not looked at.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import NamedTuple

from strawboss.recovery.evidence import LaunchScript
from strawboss.recovery.verdict import Unknown

LAUNCH_TITLE = "# Subagent launch script"
RESUME_TITLE = "# Subagent resume script"
RESUMED = Unknown("its only script resumes another run's session file: a resumed run cannot be recovered")
Header = list[str]  # the lines after `#!`, the title first
Environment = dict[str, str]
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)


class NotUnderstoodError(ValueError):
    """The script does not have the shape pi-herdr-agents gives it; the text says where."""


class Script(NamedTuple):
    """A launch or resume script, the run it is for, and that run's session file as written (sidecars lie beside it)."""

    launch: LaunchScript
    run: str
    session: str


def parse(content: bytes, path: str, resolve: Callable[[str], str]) -> Script | Unknown:
    """Unknown when header and command do not agree, or it is a resume script."""
    try:
        header, environment = _read(content)
        if header[0].startswith(RESUME_TITLE):
            return RESUMED
        _require(header[0].startswith(LAUNCH_TITLE), "its title is not a launch script's")
        return _script(header, environment, path, resolve)
    except (OSError, ValueError) as error:
        return Unknown(f"its launch script does not name its run: {error}")


def parse_resume(content: bytes, path: str, resolve: Callable[[str], str]) -> Script | Unknown:
    """The same for a resume script: Unknown when it is none, or header and command do not agree."""
    try:
        header, environment = _read(content)
        _require(header[0].startswith(RESUME_TITLE), "its title is not a resume script's")
        return _script(header, environment, path, resolve)
    except (OSError, ValueError) as error:
        return Unknown(f"its resume script does not name its run: {error}")


def run_of(content: bytes) -> str | None:
    """The run a script's command carries; None when it carries none that can be read."""
    try:
        return _read(content)[1].get("PI_SUBAGENT_ID")
    except ValueError:
        return None


def _script(header: Header, environment: Environment, path: str, resolve: Callable[[str], str]) -> Script:
    session, surface = _entry(header, "Session"), _entry(header, "Surface")
    _require(
        environment.get("PI_SUBAGENT_SESSION") == session, "header and command name different session files"
    )
    _require(
        environment.get("PI_SUBAGENT_SURFACE", surface) == surface, "header and command name different panes"
    )
    run = environment.get("PI_SUBAGENT_ID", "")
    _require(run != "", "its command carries no id")
    launch = LaunchScript(
        path=path,
        name=environment.get("PI_SUBAGENT_NAME", ""),
        session_file=resolve(session),
        surface=surface,
        auto_exit=_flag(environment, "PI_SUBAGENT_AUTO_EXIT"),
        persistent="PI_SUBAGENT_PERSISTENT" in environment and _flag(environment, "PI_SUBAGENT_PERSISTENT"),
    )
    return Script(launch, run, session)


def _read(content: bytes) -> tuple[Header, Environment]:
    lines = content.decode("utf-8").split("\n")
    header = list(takewhile(lambda line: line.startswith("#"), lines))
    _require(len(header) > 1 and header[0].startswith("#!"), "it has no header")
    return header[1:], _environment(_words("\n".join(lines[len(header) :])))


def _words(command: str) -> Iterator[str]:
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    return iter(lexer)


def _environment(words: Iterator[str]) -> Environment:
    """The assignments before `pi`; raises NotUnderstoodError, or ValueError for an unclosed quote."""
    before = []
    for word in words:
        if word == "pi":
            break
        before.append(word)
    else:
        raise NotUnderstoodError("its command does not start pi")
    if before[:1] == ["cd"]:
        _require(before[2:3] == ["&&"], "its command is not one pi-herdr-agents writes")
        before = before[3:]
    assignments = [_ASSIGNMENT.fullmatch(word) for word in before]
    environment = {found[1]: found[2] for found in assignments if found}
    _require(len(environment) == len(before), "its command is not one pi-herdr-agents writes")
    return environment


def _entry(header: Header, key: str) -> str:
    start = f"# {key}: "
    values = [line.removeprefix(start) for line in header if line.startswith(start)]
    _require(any(values[:1]), f"its header has no {key} line")
    return values[0]


def _flag(environment: Environment, key: str) -> bool:
    value = environment.get(key, "")
    _require(value in ("0", "1"), f"{key} is neither 0 nor 1")
    return value == "1"


def _require(condition: bool, reason: str) -> None:
    if not condition:
        raise NotUnderstoodError(reason)
