"""One session start at work: the launcher, its neighbours, the memory, and one look after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from strawboss.config import Config, state_directory
from strawboss.machine import ProcessList
from strawboss.overview.seen import Seen as Overview
from strawboss.pi.link import Link
from strawboss.pi.protocol import Started
from strawboss.recovery.commands import Command, ReadRegistry, ReadRuns, Result
from strawboss.recovery.explain import Explanation
from strawboss.recovery.memory import Look, Memory, RunReport
from strawboss.recovery.observing import take_look
from strawboss.resident.connections import herdr_of, intercom_of
from strawboss.resident.effects import Effects
from strawboss.resident.launcher import artifacts_directory, disk_of, launcher_of
from strawboss.resident.log import Log
from strawboss.resident.overview import seen_from_inside
from strawboss.resident.status import log_facts
from strawboss.runs.disk import Disk
from strawboss.system.directories import file_name
from strawboss.tape.lines import kept_clock
from strawboss.tape.seen import Seen
from strawboss.tape.shelf import MIB, TAPES, Limits
from strawboss.tape.writer import Tape

IDLE = frozenset({ReadRegistry, ReadRuns})  # all that a look asks for while nothing changes


class ReplacedError(Exception):
    """The session was replaced in the middle of a look, whose commands would now reach another one."""


class Session:
    """Everything that is forgotten at the next session start.

    `replaced` tells that there is one. `may_take_long` is told before a look does what an idle one does not: from then on
    it may wait for a neighbour or read much.
    """

    def __init__(
        self,
        started: Started,
        config: Config,
        environment: Mapping[str, str],
        platform: str,
        link: Link,
        log: Log,
        replaced: Callable[[], bool],
        may_take_long: Callable[[], None] = lambda: None,
    ) -> None:
        self._started, self._settings, self._link, self._log = started, config.settings, link, log
        self._replaced, self._may_take_long = replaced, may_take_long
        self._launcher = launcher_of(started, config, platform)
        self._herdr = herdr_of(self._launcher, config, environment)
        self._intercom = intercom_of(self._launcher, config, environment)
        self._tape = Tape(
            state_directory(config, environment) / TAPES,
            file_name(started.id),
            Limits(config.tape_mib * MIB, config.tapes_mib * MIB, config.tape_days),
            self._launcher,
            self._settings,
            lambda why: log.warning("tape ended", why=why),
        )
        self._seen = Seen()
        self._memory = Memory()
        self._artifacts = ""
        self._around: tuple[Disk, Effects] | None = None
        self._reported: tuple[RunReport, ...] | None = None
        self._logged: Mapping[str, str] | None = None
        self.taken: set[str] = set()

    def look(self) -> Look:
        """One check, its commands done. What it raises, this look was not made: nothing of it is remembered."""
        now = kept_clock(time.time(), time.monotonic())
        _, effects = self._surroundings()
        steps = take_look(self._launcher, self._settings, self._memory, now)
        steps = self._seen.listen(self._tape.record(steps, self._memory, now))
        answer: Any = None
        while True:
            try:
                command = steps.send(answer)
            except StopIteration as end:
                return self._remember(end.value)
            if self._replaced():
                raise ReplacedError
            if type(command) not in IDLE:
                self._may_take_long()
            answer = effects.answer(command)

    def close(self) -> None:
        self._tape.close()

    def explain(self, run: str) -> Explanation:
        """Every condition for that run as the last look saw it."""
        return self._seen.explain(self._launcher, self._settings, run)

    def seen(self, runs: tuple[RunReport, ...], looked_at: float) -> Overview:
        """For the overview, these being the runs of the last look (epoch seconds)."""
        return seen_from_inside(self._launcher, runs, looked_at, self._surroundings()[0])

    def _remember(self, look: Look) -> Look:
        self._memory = look.memory
        if look.runs != self._reported:
            self._reported = look.runs
            self._log_facts(log_facts(look.runs))
        return look

    def _log_facts(self, facts: Mapping[str, str]) -> None:
        if facts != self._logged:
            self._log.info("looked", runs=facts)
            self._logged = facts

    def _surroundings(self) -> tuple[Disk, Effects]:
        """With what the disk has read so far, unless the runs turn out to lie elsewhere (none were there before)."""
        if self._around is None or not self._memory.runs:
            artifacts = artifacts_directory(self._started, self._launcher.file)
            if self._around is None or artifacts != self._artifacts:
                self._around, self._artifacts = (
                    self._around_disk(disk_of(self._launcher, artifacts)),
                    artifacts,
                )
        return self._around

    def _around_disk(self, disk: Disk) -> tuple[Disk, Effects]:
        reach = (self._link, disk, self._herdr, self._intercom, ProcessList())
        return disk, Effects(*reach, self.taken, self._log_act)

    def _log_act(self, command: Command, answer: Any) -> None:
        """What was done and how it ended; no names, no texts."""
        outcome = answer.outcome.value if isinstance(answer, Result) else str(answer)
        shown = {
            name: getattr(command, name)
            for name in ("key", "run", "pane", "runs", "id")
            if hasattr(command, name)
        }
        self._log.info("did", command=type(command).__name__, outcome=outcome, **shown)
