"""What the last look of this process saw, to explain a run from; it is there when no tape can be written too."""

from __future__ import annotations

from typing import Any

from strawboss.recovery.commands import Command
from strawboss.recovery.evidence import Launcher
from strawboss.recovery.explain import Explanation, explain
from strawboss.recovery.memory import Look
from strawboss.recovery.settings import Settings
from strawboss.tape.lines import CARRIED, READS
from strawboss.tape.play import drive
from strawboss.tape.recorder import Steps
from strawboss.tape.taped_look import unasked


class Seen:
    """`listen` to each look; `explain` a run as the last one that ended saw it before it did anything."""

    def __init__(self) -> None:
        self._answers: dict[Command, Any] = {}

    def listen(self, steps: Steps) -> Steps:
        answers: dict[Command, Any] = {}
        answer: Any = None
        while True:
            try:
                command = steps.send(answer)
            except StopIteration as end:
                look: Look = end.value
                self._remember(answers)
                return look
            answer = yield command
            if type(command) in READS:
                answers.setdefault(command, answer)

    def explain(self, launcher: Launcher, settings: Settings, run: str) -> Explanation:
        return drive(explain(launcher, settings, run), self._answer)

    def _answer(self, command: Command) -> Any:
        return self._answers[command] if command in self._answers else unasked(type(command).__name__)

    def _remember(self, answers: dict[Command, Any]) -> None:
        carried = {one: answer for one, answer in self._answers.items() if isinstance(one, CARRIED)}
        self._answers = {**carried, **answers}
