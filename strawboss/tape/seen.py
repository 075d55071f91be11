"""What the last look of this process saw, to explain a run from; it is there when no tape can be written too."""

from __future__ import annotations

from typing import Any

from strawboss.recovery.commands import Command
from strawboss.recovery.evidence import Launcher
from strawboss.recovery.explain import Explanation, explain
from strawboss.recovery.memory import Look
from strawboss.recovery.settings import Settings
from strawboss.tape.drive import drive
from strawboss.tape.lines import CARRIED, READS
from strawboss.tape.look_lines import Steps


class Seen:
    """`listen` to each look; `explain` a run as the last one that ended saw it before it did anything."""

    def __init__(self) -> None:
        self._answers: dict[Command, Any] = {}
        self._carried: dict[Command, Any] = {}

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
        from strawboss.tape.taped_look import unasked  # a look does not need it

        def answer(command: Command) -> Any:
            known = self._answers if command in self._answers else self._carried
            return known[command] if command in known else unasked(type(command).__name__)

        return drive(explain(launcher, settings, run), answer)

    def _remember(self, answers: dict[Command, Any]) -> None:
        self._answers = answers
        self._carried.update((one, answer) for one, answer in answers.items() if isinstance(one, CARRIED))
