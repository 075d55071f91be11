"""A taped look taken again: the answers it was given, in the order it asked; and where this version decides otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from strawboss.recovery import commands as c
from strawboss.recovery.commands import Command, Outcome, Result
from strawboss.recovery.memory import RunReport
from strawboss.recovery.verdict import Unknown
from strawboss.tape.lines import READS, spoken
from strawboss.tape.memo import Memo
from strawboss.tape.taped_look import Spoken, TapedLook, answer_of

NOT_DONE = "the tape does not have it done"
# What a command is about; what else it carries may be worded otherwise without another decision.
ABOUT = ("run", "key", "pane", "session", "session_file", "runs")


class EndedError(Exception):
    """The process that took the look ended here."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a look decides otherwise than its tape. `run`: "" for a command that is of no single run."""

    run: str
    then: str
    now: str


class Exact:
    """`answer` gives each command the answer on the tape. `differs`: the first command that the tape does not have.

    `answers`: those read for the looks before.
    """

    def __init__(self, look: TapedLook, answers: Memo[Any] | None = None) -> None:
        self._look, self._answers = look, answers or Memo()
        self._place = 0
        self.differs: Difference | None = None

    def answer(self, command: Command) -> Any:
        asked = spoken(command)
        place = self._find(asked)
        if place is None:
            self._note(asked)
            return self._otherwise(command, asked)
        if place > self._place:
            self._note(asked)
        if place >= len(self._look.answers):
            raise EndedError
        self._place = place + 1
        found = self._look.asked[place]
        answer = self._look.answers[place]
        return self._answers.of(answer, lambda one: answer_of(found, one), str(found[0]))

    def end(self) -> None:
        """The look asks no more: the tape should not either."""
        if self._place < len(self._look.asked):
            self._note(None)

    def _find(self, asked: Spoken) -> int | None:
        places = range(self._place, len(self._look.asked))
        return next((place for place in places if is_same(self._look.asked[place], asked)), None)

    def _note(self, asked: Spoken | None) -> None:
        then = self._look.asked[self._place] if self._place < len(self._look.asked) else None
        self.differs = self.differs or Difference(run_of(asked or then), words_of(then), words_of(asked))

    def _otherwise(self, command: Command, asked: Spoken) -> Any:
        if type(command) in READS:
            return self._look.known(str(asked[0]), **_members(asked))
        if isinstance(command, c.Pause):
            return self._look.clock.monotonic + command.seconds
        if isinstance(command, c.WriteKey):
            return Unknown(NOT_DONE)
        return None if isinstance(command, c.Notify) else Result(Outcome.FAILED, NOT_DONE)


def is_same(one: Spoken, other: Spoken) -> bool:
    return one[0] == other[0] and all(_members(one).get(name) == _members(other).get(name) for name in ABOUT)


def _members(spoken: Spoken) -> dict[str, Any]:
    members = spoken[1] if len(spoken) > 1 else {}
    return members if isinstance(members, dict) else {}


def run_of(spoken: Spoken | None) -> str:
    return str(_members(spoken).get("run", "")) if spoken else ""


def words_of(spoken: Spoken | None) -> str:
    """`WriteKey closing a1b2c3d4`; nothing where the look had ended."""
    if spoken is None:
        return "nothing more"
    return " ".join(
        [str(spoken[0]), *(str(_members(spoken)[name]) for name in ABOUT if name in _members(spoken))]
    )


def differences(look: TapedLook, runs: tuple[RunReport, ...]) -> Iterator[Difference]:
    """Runs of which this version says another state, or another condition that does not hold."""
    then = {one.run: one for one in look.reported}
    now = {one.run: one for one in runs}
    for run in sorted(then.keys() | now.keys()):
        before, after = decision_of(then.get(run)), decision_of(now.get(run))
        if before != after:
            yield Difference(run, before, after)


def decision_of(report: RunReport | None) -> str:
    """`restored found once (nothing in its way)`: all that two reports of one decision share."""
    if report is None:
        return "not reported"
    obstacle = report.obstacle
    why = f"{obstacle.of} {obstacle.answer.value}" if obstacle else "nothing in its way"
    return f"{report.machine or '-'} {report.state} ({why})"
