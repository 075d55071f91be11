"""What of a look may be told: what decides in it stays, everything that names something has a stand-in.

Kept are kinds, states, statuses, sizes, equalities, and times as they lie to each other. What is not named in `RULES`
is replaced: a member that is added to the evidence is a stand-in until somebody says that it decides.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import strawboss
from strawboss.recovery import commands as c
from strawboss.recovery import evidence as e
from strawboss.recovery.facts import Standing
from strawboss.recovery.handover import Handover
from strawboss.recovery.keys import FOLD
from strawboss.recovery.look import MACHINES
from strawboss.recovery.memory import Memory, RunMemory, RunReport
from strawboss.recovery.proof import Found, Proof
from strawboss.recovery.settings import TURN_STARTING_TYPES, Settings
from strawboss.recovery.turn import HANG_UP, QUESTION_ACTIONS, QUESTIONS, STEP_ROLES
from strawboss.recovery.verdict import Unknown, Verdict
from strawboss.runs.activity import EVENTS, PHASES
from strawboss.tape.standin import StandIns

LAST_DATE = 1e12  # that of no host; milliseconds are still exact before it
OLDEST_DATE = 1e9  # no host is up for so many seconds
START = 946_684_800  # 2000-01-01T00:00:00Z: when the first look of every incident was
STATES = frozenset(
    str(state) for machine in MACHINES for pair in machine.table.items() for state in (pair[0][0], pair[1])
)
ENTRY_KINDS = frozenset({"message", "custom", "custom_message", "compaction", "context_edit", "session_info"})
STOP_REASONS = frozenset({"stop", "length", "toolUse", "aborted", "error"})
STATUSES = frozenset({"idle", "done", "working", "blocked", "unknown", "thinking"})
WORKTREE_STATES = frozenset(
    {
        *("provisioning", "provisioned", "running", "ready_for_review"),
        *("needs_help", "failed", "removed", "cancelled"),
    }
)
OWN_FOLDERS = ("recovery", "runs", "herdr", "intercom", "machine", "pi", "resident", "tape")

Rule = Callable[["Redactor", Any], Any]


class Redactor:
    """One for a whole tape. `runs`: all ids of runs in it. `first`: the first look's clock, which becomes `START` and 0."""

    def __init__(self, key: bytes, runs: Collection[str], first: e.Clock) -> None:
        self.names, self.runs = StandIns(key, runs), runs
        self._wall, self._monotonic = int(first.wall), int(first.monotonic)

    def redact(self, value: Any, rule: Rule | None = None) -> Any:
        """The same value with stand-ins; `rule` is for each text or number in it, and a text without one is replaced."""
        if isinstance(value, Enum | bool) or value is None:
            return value
        if isinstance(value, Mapping):
            return {self.redact(key): self.redact(one, rule) for key, one in value.items()}
        if isinstance(value, tuple | frozenset | list):
            return type(value)(self.redact(one, rule) for one in value)
        if is_dataclass(value) and not isinstance(value, type):
            return self._redact_members(value)
        if rule is not None:
            return rule(self, value)
        return self.names.path(value) if isinstance(value, str) else value

    def _redact_members(self, value: Any) -> Any:
        rules = RULES.get(type(value), {})
        whole = WHOLE.get(type(value), {})
        return replace(
            value,
            **{
                one.name: whole[one.name](self, getattr(value, one.name))
                if one.name in whole
                else self.redact(getattr(value, one.name), rules.get(one.name))
                for one in fields(value)
            },
        )

    # -- times ---------------------------------------------------------------------------------------------------

    def wall(self, seconds: float) -> float:
        return _moved(seconds, START - self._wall)

    def monotonic(self, seconds: float) -> float:
        return _moved(seconds, -self._monotonic)

    def iso(self, text: str) -> str:
        """As it was written, at another time; what is no time is a text."""
        try:
            moved = datetime.fromisoformat(text) + timedelta(seconds=START - self._wall)
        except (ValueError, OverflowError):
            return self.names.text(text)
        written = moved.isoformat(timespec="milliseconds" if "." in text else "seconds")
        return written.removesuffix("+00:00") + "Z" if text.endswith("Z") else written


def _moved(seconds: float, by: int) -> float:
    """Whole milliseconds stay that. A number that is no time, from a file of another program, is hardly moved."""
    if abs(seconds) > LAST_DATE:
        return seconds + by
    milliseconds = round(seconds * 1000)
    return (milliseconds + by * 1000) / 1000 if milliseconds / 1000 == seconds else seconds + by


# -- rules for texts and numbers -----------------------------------------------------------------------------------


def kept(_: Redactor, value: Any) -> Any:
    return value


def among(words: Collection[str]) -> Rule:
    """These words stay as they are."""
    return lambda redactor, value: value if value in words else redactor.names.text(value)


def text(redactor: Redactor, value: str) -> str:
    return redactor.names.text(value)


def pid(redactor: Redactor, value: int) -> int:
    return redactor.names.number(value)


def wall(redactor: Redactor, value: float) -> float:
    return redactor.wall(value)


def monotonic(redactor: Redactor, value: float) -> float:
    return redactor.monotonic(value)


def iso(redactor: Redactor, value: str) -> str:
    return redactor.iso(value)


def program(redactor: Redactor, value: str) -> str:
    return redactor.names.program(value)


def status(redactor: Redactor, value: str) -> str:
    """`idle · coffee`, `tool:bash`: the base stays, what somebody chose does not."""
    base, mark, chosen = value.partition(" · ")
    kind, colon, tool = base.partition(":")
    shown = kind if kind in STATUSES or (colon and kind == "tool") else redactor.names.text(kind)
    return shown + colon + redactor.names.text(tool) + mark + redactor.names.text(chosen)


def failure(redactor: Redactor, value: str) -> str:
    """Of an error only the words that tell a hang-up."""
    found = HANG_UP.search(value)
    return found[0] if found else redactor.names.text(value)


def reason(redactor: Redactor, value: str) -> str:
    """Our own sentences stay; one that has something of somebody's in it does not."""
    return value if value in own_sentences() else redactor.names.text(value)


def found(redactor: Redactor, value: str) -> str:
    """Ids with a space between; what is not known is `None`."""
    return " ".join(one if one == "None" else redactor.names.path(one) for one in value.split(" "))


@cache
def own_sentences() -> frozenset[str]:
    """Every text that stands whole in strawboss's own source."""
    root = Path(strawboss.__file__).parent
    files = (file for folder in OWN_FOLDERS for file in (root / folder).rglob("*.py"))
    trees = (ast.walk(ast.parse(file.read_text(encoding="utf-8"))) for file in files)
    nodes = (node for tree in trees for node in tree if isinstance(node, ast.Constant))
    return frozenset(node.value for node in nodes if isinstance(node.value, str))


# -- rules for a member as a whole ---------------------------------------------------------------------------------


def key_data(redactor: Redactor, data: Mapping[str, Any]) -> dict[str, Any]:
    rules: Mapping[str, Rule] = {"at": iso, "why": reason, "terminal": text, "pane": text}
    return {
        name if name in rules else redactor.names.text(name): redactor.redact(value, rules.get(name))
        for name, value in data.items()
    }


def argv(redactor: Redactor, arguments: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if not arguments:
        return arguments
    return (program(redactor, arguments[0]), *redactor.redact(arguments[1:]))


def calls(redactor: Redactor, made: tuple[tuple[str, str, str], ...]) -> tuple[tuple[str, str, str], ...]:
    tools = QUESTIONS | {tool for tool, _ in QUESTION_ACTIONS}
    actions = {action for _, action in QUESTION_ACTIONS}
    return tuple(
        (redactor.names.text(id), among(tools)(redactor, tool), among(actions)(redactor, action))
        for id, tool, action in made
    )


def proofs(redactor: Redactor, by_machine: Mapping[str, Proof]) -> dict[str, Proof]:
    return {machine: redactor.redact(proof) for machine, proof in by_machine.items()}


def key_counts(redactor: Redactor, counts: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    return {
        (among(FOLD)(redactor, key), redactor.names.path(run)): count for (key, run), count in counts.items()
    }


def warned(redactor: Redactor, value: str) -> str:
    """`key seen a1b2c3d4`: what was warned of stays, of whom does not."""
    words = value.split(" ")
    return " ".join(redactor.names.path(one) if one in redactor.runs else one for one in words)


def started(redactor: Redactor, seconds: float) -> float:
    """Of a process: seconds since boot, or a date."""
    return redactor.wall(seconds) if seconds > OLDEST_DATE else seconds


RULES: Mapping[type, Mapping[str, Rule]] = {
    e.Launcher: {"pid": pid, "platform": kept},
    e.Clock: {"wall": wall, "monotonic": monotonic},
    e.Activity: {"phase": among(PHASES), "latest_event": among(EVENTS), "updated_at": wall},
    e.Policy: {"owner": among({"public", "workflow"})},
    e.Worktree: {"state": among(WORKTREE_STATES)},
    e.KeyEntry: {"key": among(FOLD)},
    e.Pane: {"agent": among({"pi"}), "status": among(STATUSES)},
    e.Process: {"pid": pid, "name": program, "argv0": program},
    e.Holders: {"unreadable": pid, "silent": pid},
    e.Identity: {"pid": pid, "started": started},
    e.Peer: {"pid": pid, "status": status},
    e.Entry: {
        "kind": among(ENTRY_KINDS),
        "at": iso,
        "role": among(STEP_ROLES),
        "custom_type": among(TURN_STARTING_TYPES),
        "stop_reason": among(STOP_REASONS),
        "error": failure,
    },
    e.Tail: {"changed_at": wall},
    Settings: {"turn_starting_types": among(TURN_STARTING_TYPES)},
    Memory: {"warned": warned},
    RunMemory: {"machine": kept},
    RunReport: {"machine": kept, "state": kept},
    Proof: {"state": among(STATES)},
    Found: {"at": monotonic, "what": found},
    Standing: {"active_at": wall},
    Handover: {"last_step": iso},
    Verdict: {"of": kept, "condition": kept, "why": reason},
    Unknown: {"why": reason},
    c.Result: {"why": reason},
    c.WriteKey: {"key": among(FOLD)},
    c.Identify: {"pid": pid},
    c.Notify: {"level": kept},
}
WHOLE: Mapping[type, Mapping[str, Rule]] = {
    e.KeyEntry: {"data": key_data},
    c.WriteKey: {"data": key_data},
    e.Process: {"argv": argv},
    e.Entry: {"calls": calls},
    RunMemory: {"proofs": proofs},
    Memory: {"keys": key_counts, "reports": lambda _, __: {}},  # the next look makes them again
}


def names_of_runs(values: Iterable[Any]) -> set[str]:
    """The runs that memories and answers name, and the beginnings of ids that torn keys leave."""
    runs: set[str] = set()
    for value in values:
        if isinstance(value, Memory):
            runs |= value.runs.keys()
        elif isinstance(value, e.Transcript):
            runs |= value.torn_keys | {*value.told} | value.launched_since | value.worktrees
            runs |= {one.run for one in value.keys} | {one.run for one in value.resumes}
        elif isinstance(value, Mapping):
            runs |= value.keys()
    return runs
