"""One look at all runs of a launcher, in order of cost, as a generator of commands (DESIGN sections 3 and 4)."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import replace
from typing import Any

from strawboss.recovery import nudge, restored
from strawboss.recovery.acts.ask import ask_found
from strawboss.recovery.acts.close import recover_found
from strawboss.recovery.acts.give_up import say_given_up
from strawboss.recovery.acts.go_on import go_on
from strawboss.recovery.acts.proof import (
    found_for_nudge,
    found_restored,
    not_found_for_nudge,
    not_found_restored,
)
from strawboss.recovery.acts.step import note_running
from strawboss.recovery.acts.tell import confirm_taken, tell_launcher
from strawboss.recovery.commands import (
    Command,
    ListPanes,
    ListSessions,
    Notify,
    ProcessInfo,
    ReadRegistry,
    ReadRun,
    ReadRuns,
    ReadTranscript,
)
from strawboss.recovery.evidence import Clock, Launcher, Pane, Panes, Registry, Roster, Runs, Transcript
from strawboss.recovery.facts import (
    Facts,
    has_launch_script,
    has_not_been_acted_on,
    is_not_persistent,
    is_unreported,
    launcher_is_alone,
    runs_its_script,
)
from strawboss.recovery.keys import NOTHING, fold
from strawboss.recovery.messages import second_pi
from strawboss.recovery.round import Round
from strawboss.recovery.settings import Settings
from strawboss.recovery.verdict import Answer, Unknown, Verdict, first_obstacle, unknown
from strawboss.recovery.watch import Look, Memory, RunReport, Watch, count_keys

__all__ = ["Look", "Memory", "RunReport", "check"]

Commands = Generator[Command, Any, None]

# A No to one of these holds until the next session start, whatever else changes.
SETTLING_TRACKED = (is_unreported, is_not_persistent, has_not_been_acted_on)
# A run that is being launched may get its script yet, and one whose end is being told keeps its sidecar a moment.
SETTLING = (*SETTLING_TRACKED[:1], has_launch_script, *SETTLING_TRACKED[1:], restored.has_never_ended)
OBSERVING = unknown("the clocks agree", "the clock jumped or the host slept; this look only observes")


def check(
    launcher: Launcher, settings: Settings, memory: Memory, now: Clock
) -> Generator[Command, Any, Look]:
    """One look. Yields commands, is sent their answers, returns the reports and the memory for the next look."""
    registry: Registry | Unknown = yield ReadRegistry()
    activities: Runs | Unknown = yield ReadRuns()
    runs: Runs = dict.fromkeys(memory.watches, activities) if isinstance(activities, Unknown) else activities
    round_ = Check(launcher, settings, memory, now, runs)
    blind = next((one for one in (registry, activities) if isinstance(one, Unknown)), None)
    if blind is None:
        assert not isinstance(registry, Unknown)
        yield from round_.look(registry)
    else:
        round_.is_blind("the registry can be read" if blind is registry else "the runs can be read", blind)
    return round_.result()


class Check(Round):
    """The look, step by step, from what costs nothing to what is done."""

    # -- the road of a look ------------------------------------------------------------------------------------

    def look(self, registry: Registry) -> Commands:
        open_runs = [run for run, watch in self.watches.items() if watch.is_open(run in registry)]
        for run in registry & self.watches.keys():
            self.watches[run] = replace(self.watches[run].start_over(), obstacle=None, machine="")
        if not open_runs:
            return
        transcript: Transcript | Unknown = yield ReadTranscript()
        obstacle = self._transcript_obstacle(transcript)
        if isinstance(transcript, Unknown) or obstacle is not None:
            assert obstacle is not None
            self.is_blind(obstacle.condition, obstacle, open_runs)
            return
        yield from self._gather(open_runs, registry, transcript)
        if self.memory.jumped(self.now):
            self._observe()
            return
        yield from confirm_taken(self)
        self._settle()
        yield from self._look_at_panes()
        yield from go_on(self)
        yield from ask_found(self)
        yield from recover_found(self)
        yield from say_given_up(self)
        yield from tell_launcher(self)

    def _transcript_obstacle(self, transcript: Transcript | Unknown) -> Verdict | None:
        condition = "the transcript can be read"
        if isinstance(transcript, Unknown):
            return unknown(condition, transcript)
        if transcript.torn_keys:
            return unknown(condition, "a line that may hold a key cannot be read")
        if self.memory.lost_keys(transcript.keys):
            return unknown(
                condition, "keys that were in the session file are gone: it was replaced or truncated"
            )
        self.keys = dict(count_keys(transcript.keys))
        return None

    def _gather(self, runs: Iterable[str], registry: Registry, transcript: Transcript) -> Commands:
        keys = fold(transcript.keys)
        for run in runs:
            files = yield ReadRun(run)
            facts = Facts(
                self.launcher,
                self.settings,
                run,
                run in registry,
                self.activities[run],
                files,
                transcript,
                keys.get(run, NOTHING),
                ran_in=self.watches[run].ran_in,
            )
            self.facts[run] = facts
            file = facts.script.session_file if facts.script else self.watches[run].session_file
            surface = facts.script.surface if facts.script else ""
            watch = self.watches[run].with_keys(facts.keys, surface)
            self.watches[run] = replace(watch, name=facts.name or watch.name, session_file=file)

    def _settle(self) -> None:
        for run, facts in list(self.facts.items()):
            conditions = SETTLING_TRACKED if facts.tracked else SETTLING
            verdicts = (condition(facts) for condition in conditions)
            verdict = next((verdict for verdict in verdicts if verdict.answer is Answer.NO), None)
            if verdict is not None:
                self.watches[run] = replace(
                    self.watches[run].start_over(), settled=verdict, obstacle=verdict, machine=""
                )
                del self.facts[run]

    # -- panes, in order of cost -------------------------------------------------------------------------------

    def _look_at_panes(self) -> Commands:
        askers = [run for run in self.facts if self._wants_nudge(run)]
        if askers:
            yield from self._ask_roster(askers)
        wanting = [run for run in self.facts if self._wants_panes(run)]
        if wanting:
            panes: Panes | Unknown = yield ListPanes()
            for run in self.facts:
                self.facts[run] = replace(self.facts[run], panes=panes)
            yield from self._warn_second_pi()
        for run in list(self.facts):
            if run in wanting:
                yield from self._look_at_pane(run)
            elif not self.facts[run].tracked and self.watches[run].restored not in restored.UNDER_WAY:
                self._judge(run, asked=False)

    def _ask_roster(self, runs: Iterable[str]) -> Commands:
        roster: Roster | Unknown = yield ListSessions()
        for run in runs:
            self.facts[run] = replace(self.facts[run], roster=roster)

    def _wants_nudge(self, run: str) -> bool:
        if self.watches[run].nudge in nudge.FINAL or self.watches[run].restored in restored.UNDER_WAY:
            return False
        return first_obstacle(self.facts[run], nudge.BY_FILES) is None

    def _wants_panes(self, run: str) -> bool:
        facts, watch = self.facts[run], self.watches[run]
        if watch.restored in restored.UNDER_WAY:
            return True
        if facts.tracked:
            return not watch.noted and self._wants_note(facts)
        if self._wants_nudge(run) and first_obstacle(facts, nudge.BY_ROSTER) is None:
            return True
        return self._wants_restored(run)

    def _wants_note(self, facts: Facts) -> bool:
        return first_obstacle(facts, restored.NOTE_BY_FILES) is None

    def _wants_restored(self, run: str) -> bool:
        if self.watches[run].restored in restored.FINAL:
            return False
        return first_obstacle(self.facts[run], restored.BY_FILES) is None

    def _look_at_pane(self, run: str) -> Commands:
        if self.watches[run].restored in restored.UNDER_WAY:
            return
        pane = self._pane_to_ask(run)
        if pane is not None:
            processes = yield ProcessInfo(pane.id)
            self.facts[run] = replace(self.facts[run], processes=processes)
        facts = self.facts[run]
        if runs_its_script(facts).holds and facts.pane is not None:
            yield from note_running(self, run, facts.pane)
        elif facts.tracked and not isinstance(facts.panes, Unknown):
            self.watches[run] = replace(self.watches[run], note_misses=self.watches[run].note_misses + 1)
        if not facts.tracked:
            self._judge(run, asked=True)

    def _pane_to_ask(self, run: str) -> Pane | None:
        """The pane whose processes decide something: who is to be asked, closed, or noted as running."""
        facts = self.facts[run]
        if not launcher_is_alone(facts).holds:
            return None
        if self._wants_nudge(run) and first_obstacle(facts, nudge.BY_ROSTER + nudge.BY_PANES) is None:
            return facts.pane
        if self._wants_restored(run) and first_obstacle(facts, restored.BY_PANES) is None:
            return restored.restored_pane(facts)
        if facts.pane is None or facts.pane.terminal in (None, facts.keys.terminal):
            return None
        return facts.pane if self._wants_note(facts) else None

    # -- judging -----------------------------------------------------------------------------------------------

    def _judge(self, run: str, *, asked: bool) -> None:
        """Both machines take the look in: at most one of them can find the run."""
        self._judge_nudge(run, asked)
        self._judge_restored(run, asked)
        facts, watch = self.facts[run], self.watches[run]
        if watch.restored not in restored.FINAL and watch.restored_obstacle is None:
            machine, obstacle = restored.kind(facts), None
        elif watch.nudge_obstacle is None or is_the_nudges(facts, watch, asked=asked):
            machine, obstacle = "nudge", watch.nudge_obstacle
        else:
            machine, obstacle = restored.kind(facts), watch.restored_obstacle
        self.watches[run] = replace(watch, machine=machine, obstacle=obstacle)

    def _judge_nudge(self, run: str, asked: bool) -> None:
        """A machine that has ended keeps the obstacle it ended with."""
        facts, watch = self.facts[run], self.watches[run]
        if watch.nudge in nudge.FINAL:
            return
        obstacle = first_obstacle(facts, nudge.CONDITIONS)
        watch = replace(watch, nudge_obstacle=obstacle)
        if obstacle is None:
            self.watches[run] = found_for_nudge(watch, who_is_found(facts), self.now, self.settings)
        else:
            missed = asked and obstacle.condition in nudge.COUNTED and not isinstance(facts.panes, Unknown)
            self.watches[run] = not_found_for_nudge(watch, missed=missed)

    def _judge_restored(self, run: str, asked: bool) -> None:
        facts, watch = self.facts[run], self.watches[run]
        if watch.restored in restored.FINAL:
            return
        obstacle = first_obstacle(facts, restored.CONDITIONS)
        watch = replace(watch, restored_obstacle=obstacle)
        if obstacle is None:
            pane = restored.restored_pane(facts)
            self.watches[run] = found_restored(watch, str(pane and pane.terminal), self.now, self.settings)
        else:
            by_files = first_obstacle(facts, restored.BY_FILES) is not None
            missed = asked and not by_files and obstacle.condition not in restored.NOT_COUNTED
            self.watches[run] = not_found_restored(watch, missed=missed)

    def _observe(self) -> None:
        for run in self.facts:
            self.watches[run] = replace(self.watches[run].start_over(), obstacle=OBSERVING, machine="")
        self.facts.clear()

    def is_blind(self, condition: str, why: Unknown | Verdict, runs: Iterable[str] | None = None) -> None:
        """A look that saw nothing: every run is Unknown, and every proof starts again."""
        verdict = unknown(condition, why.why)
        for run in self.watches if runs is None else runs:
            if self.watches[run].settled is None:
                self.watches[run] = replace(self.watches[run].start_over(), obstacle=verdict, machine="")

    def _warn_second_pi(self) -> Commands:
        facts = next(iter(self.facts.values()))
        verdict = launcher_is_alone(facts)
        if verdict.why and not isinstance(facts.panes, Unknown) and self.first_time("second pi"):
            yield Notify("warning", second_pi(verdict.why))

    # -- the result --------------------------------------------------------------------------------------------

    def result(self) -> Look:
        reports = {run: self._report(run, watch) for run, watch in self.watches.items()}
        absent = self.memory.watches.keys() - self.watches.keys()
        watches = {**{run: self.memory.watches[run].start_over() for run in absent}, **self.watches}
        memory = Memory(watches, self.now, self.keys, frozenset(self.warned), reports)
        return Look(tuple(reports.values()), memory)

    def _report(self, run: str, watch: Watch) -> RunReport:
        """A thousand old runs say every time what they said before."""
        known = self.memory.reports.get(run)
        return known if known is not None and self.memory.watches[run] is watch else report(run, watch)


def who_is_found(facts: Facts) -> str:
    """Whom the nudge would reach: another terminal, session or registration starts the proof again (R43)."""
    assert facts.pane is not None
    assert facts.peer is not None
    return f"{facts.pane.terminal} {facts.peer.id} {facts.peer.epoch}"


def is_the_nudges(facts: Facts, watch: Watch, *, asked: bool) -> bool:
    """Whether the nudge is the machine to name: its pane runs the script, or has had the same terminal all the time.

    What was seen when its pane was last asked for stays, so that a child at work is not called given up.
    """
    if not asked and watch.machine:
        return watch.machine == "nudge"
    if runs_its_script(facts).holds:
        return True
    if isinstance(facts.activity, Unknown) or facts.activity.phase == "done":
        return False
    return restored.restore_happened(facts).answer is Answer.NO


def report(run: str, watch: Watch) -> RunReport:
    if watch.settled is not None:
        return RunReport(run, watch.name, "", state_when_settled(watch), watch.settled, stranded=False)
    if watch.machine == "nudge":
        state, stranded = watch.nudge.value, watch.nudge is nudge.State.FOUND_ONCE
    elif watch.machine:
        state = watch.restored.value
        stranded = watch.restored is restored.State.FOUND_ONCE or watch.restored in restored.UNDER_WAY
    else:
        state, stranded = ("not looked at" if watch.obstacle else "tracked"), False
    return RunReport(run, watch.name, watch.machine, state, watch.obstacle, stranded)


def state_when_settled(watch: Watch) -> str:
    """What the last machine did, if any did anything; else that nothing can be done."""
    if watch.restored in {restored.State.RESUMED, restored.State.GAVE_UP}:
        return str(watch.restored.value)
    if watch.nudge in nudge.FINAL and watch.nudge is not nudge.State.GIVEN_UP:
        return str(watch.nudge.value)
    return "settled"
