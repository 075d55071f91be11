"""One process as the system shows it, and what that says of the session it may hold. Pure.

Source: docs/design.md#what-lies-where: a running pi has taken its arguments away, so it is
known by its environment; its launch script stands in the arguments of the shell around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath, PureWindowsPath

from strawboss.recovery.evidence import Holders, Process

SESSION_VARIABLE = "PI_SUBAGENT_SESSION"
PACKAGE = "pi-coding-agent"
RUNTIMES = frozenset({"node", "bun"})


@dataclass(frozen=True, slots=True)
class Seen:
    """`argv`, `environment`: None where they cannot be read; the environment of a pi of this user only is looked at."""

    pid: int
    name: str
    mine: bool
    argv: tuple[str, ...] | None
    environment: Mapping[str, str] | None = field(default_factory=dict)


def is_pi(name: str, argv: tuple[str, ...] | None) -> bool:
    """By its title, or before it has set it by the program that its runtime was given."""
    programs = [name, *(argv or ())[:1]]
    if argv and _base(argv[0]) in RUNTIMES:
        programs += [word for word in argv[1:] if not word.startswith("-")][:1]
    return any(_base(program) == "pi" or PACKAGE in program for program in programs)


def holders(processes: Iterable[Seen], session_file: str, script: str) -> Holders:
    """Names of files are looked for, not paths: an argument may be relative or go through a link."""
    names = [PurePath(path).name for path in (session_file, script) if path]
    naming, unreadable, silent = [], [], []
    for one in processes:
        if any(name in said for name in names for said in _said(one)):
            naming.append(Process(one.pid, one.name))
        elif one.mine and is_pi(one.name, one.argv):
            if one.argv is None or one.environment is None:
                unreadable.append(one.pid)
            elif not _says_its_session(one):
                silent.append(one.pid)
    return Holders(tuple(naming), tuple(unreadable), tuple(silent))


def _said(process: Seen) -> tuple[str, ...]:
    return (*(process.argv or ()), (process.environment or {}).get(SESSION_VARIABLE, ""))


def _says_its_session(process: Seen) -> bool:
    return SESSION_VARIABLE in (process.environment or {}) or "--session" in (process.argv or ())


def _base(path: str) -> str:
    return PureWindowsPath(path).name.removesuffix(".exe").removesuffix(".cmd")
