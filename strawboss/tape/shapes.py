"""What `replay --json` and `explain --json` print: one object a line, the names the same everywhere."""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec

from strawboss.recovery.commands import Command
from strawboss.recovery.explain import Explanation
from strawboss.recovery.memory import RunReport
from strawboss.tape.play import Summary, Told


class Run(msgspec.Struct, forbid_unknown_fields=True):
    """A run at a look. `condition`, `answer`, `why`: the first condition that does not hold; "", yes, "" without one."""

    run: str
    name: str
    machine: str
    state: str
    stranded: bool
    answer: str
    condition: str
    why: str


class Differs(msgspec.Struct, forbid_unknown_fields=True):
    run: str
    then: str
    now: str


class Look(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """`commands`: each effect by its name and members, with its `answer`. `ended`: not there unless false."""

    look: int
    moment: str
    runs: list[Run]
    commands: list[dict[str, Any]]
    ended: bool = True
    differs: list[Differs] = []


class Acts(msgspec.Struct, forbid_unknown_fields=True, rename={"gave_up": "gaveUp"}):
    nudged: list[str]
    closed: list[str]
    resumed: list[str]
    continued: list[str]
    gave_up: list[str]
    untouched: dict[str, str]


class Summarized(msgspec.Struct, forbid_unknown_fields=True):
    """The first line. `gaveUp` is spelt as the key in the session file."""

    summary: Acts


class Condition(msgspec.Struct, forbid_unknown_fields=True):
    machine: str
    condition: str
    answer: str
    why: str


class Explained(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A run with every condition; `sentence`: it in plain words; `session`, `at`: whose look, and when (ISO)."""

    sentence: str
    run: Run
    conditions: list[Condition]
    session: str = ""
    at: str = ""


class LookedAt(msgspec.Struct, forbid_unknown_fields=True):
    """A launcher's session, looked at from outside. `registry`: what is not known of it, in words."""

    session: str
    file: str
    registry: str
    runs: list[Run]


class Happened(msgspec.Struct, forbid_unknown_fields=True):
    """What was done for a run. `at`: epoch seconds; `what`: its key; `outcome`: done, failed, not known."""

    at: float
    session: str
    run: str
    name: str
    what: str
    outcome: str
    why: str
    reported: bool


def run_of(report: RunReport) -> Run:
    obstacle = report.obstacle
    return Run(
        report.run,
        report.name,
        report.machine,
        report.state,
        report.stranded,
        obstacle.answer.value if obstacle else "yes",
        obstacle.condition if obstacle else "",
        obstacle.why if obstacle else "",
    )


def look_of(told: Told) -> Look:
    return Look(
        told.number,
        told.label,
        [run_of(report) for report in told.runs],
        [{**command_of(command), "answer": plain_data(answer)} for command, answer in told.done],
        told.ended,
        [Differs(one.run, one.then, one.now) for one in told.differs],
    )


def command_of(command: Command) -> dict[str, Any]:
    members: dict[str, Any] = msgspec.to_builtins(command)
    return {"command": type(command).__name__, **members}


def plain_data(answer: Any) -> Any:
    return msgspec.to_builtins(
        answer, enc_hook=lambda value: value.value if isinstance(value, Enum) else str(value)
    )


def summary_of(summary: Summary) -> Summarized:
    return Summarized(
        Acts(
            summary.nudged,
            summary.closed,
            summary.resumed,
            summary.continued,
            summary.gave_up,
            summary.untouched,
        )
    )


def conditions_of(explanation: Explanation) -> list[Condition]:
    return [
        Condition(machine, verdict.condition, verdict.answer.value, verdict.why)
        for machine, verdicts in explanation
        for verdict in verdicts
    ]
