"""One look at all runs of a launcher, in order of cost, as a generator of commands.

First what costs nothing (the registry, the activity of each run), then the files of the runs that are still open, then
the roster and one pane list for those that could be acted on, then the processes of a pane about to be acted on. What
is under way is gone on with before anything is begun. The machines decide; the road here is the same for each.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import replace
from typing import Any

from strawboss.recovery import conditions, noting
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
from strawboss.recovery.facts import NOT_ASKED, Facts
from strawboss.recovery.keys import NOTHING, RunKeys, fold
from strawboss.recovery.known import Commands, Known
from strawboss.recovery.lost import LOST
from strawboss.recovery.machine import Machine
from strawboss.recovery.memory import Look, Memory, RunMemory, count_keys
from strawboss.recovery.messages import second_pi, torn_keys
from strawboss.recovery.nudge import NUDGE
from strawboss.recovery.proof import Proof, Stage
from strawboss.recovery.recheck import KEYS_READABLE, REGISTRY_READABLE, TORN_KEY, TRANSCRIPT_READABLE
from strawboss.recovery.report import machine_to_name, report_of
from strawboss.recovery.restored import RESTORED
from strawboss.recovery.restored.conditions import has_never_ended
from strawboss.recovery.restored.tell import confirm_taken
from strawboss.recovery.settings import Settings
from strawboss.recovery.verdict import Answer, Named, Unknown, Verdict, first_obstacle

MACHINES = (NUDGE, RESTORED, LOST)

RUNS_READABLE = Named("look.runs_readable", "the runs can be read")
CLOCKS_AGREE = Named("look.clocks_agree", "the clocks agree")
# A No to one of these holds until the next session start, whatever else changes.
SETTLING_TRACKED = (
    conditions.is_unreported,
    conditions.was_not_resumed_since,
    conditions.is_not_persistent,
    conditions.has_not_been_acted_on,
)
# A run that is being launched may get its script yet, and one whose end is being told keeps its sidecar a moment.
SETTLING = (SETTLING_TRACKED[0], conditions.has_launch_script, *SETTLING_TRACKED[1:], has_never_ended)


def look_at_runs(
    launcher: Launcher, settings: Settings, memory: Memory, now: Clock
) -> Generator[Command, Any, Look]:
    """Yields commands, is sent their answers, returns the reports and the memory for the next look."""
    registry: Registry | Unknown = yield ReadRegistry()
    activities: Runs | Unknown = yield ReadRuns()
    runs: Runs = dict.fromkeys(memory.runs, activities) if isinstance(activities, Unknown) else activities
    known = Known(launcher, settings, memory, now, runs)
    if isinstance(registry, Unknown):
        _see_nothing(known, REGISTRY_READABLE.unknown(registry), known.runs)
    elif isinstance(activities, Unknown):
        _see_nothing(known, RUNS_READABLE.unknown(activities), known.runs)
    else:
        yield from _look(known, registry)
    return _result(known)


def _look(known: Known, registry: Registry) -> Commands:
    open_runs = [run for run, memory in known.runs.items() if _is_open(memory, run in registry)]
    for run in registry & known.runs.keys():
        known.runs[run] = known.runs[run].tracked()
    if not open_runs:
        return
    transcript: Transcript | Unknown = yield ReadTranscript()
    obstacle = _transcript_obstacle(known, transcript)
    if isinstance(transcript, Unknown) or obstacle is not None:
        assert obstacle is not None
        _see_nothing(known, obstacle, open_runs)
        return
    known.keys = dict(count_keys(transcript.keys))
    torn = [run for run in open_runs if transcript.may_hold_torn_key_of(run)]
    _see_nothing(known, KEYS_READABLE.unknown(TORN_KEY), torn)
    untold = [run for run in torn if known.first_time(f"torn key {run}")]
    if untold:
        yield Notify("warning", torn_keys(untold, known.launcher.file))
    yield from _gather(known, [run for run in open_runs if run not in torn], registry, transcript)
    if known.memory.jumped(known.now):
        _only_observe(known)
        return
    yield from confirm_taken(known)
    _settle(known)
    yield from _look_at_panes(known)
    for machine in MACHINES:
        yield from machine.go_on(known)
    for machine in MACHINES:
        yield from machine.act(known)


def _is_open(memory: RunMemory, tracked: bool) -> bool:
    """Whether this look must spend anything on the run."""
    if memory.settled is not None:
        return False
    if tracked:
        return noting.is_due(memory.noting)
    return any(_may_go_on(memory, machine) for machine in MACHINES)


def _may_go_on(memory: RunMemory, machine: Machine) -> bool:
    """Whether the machine has not ended, nor waits for another one to give up."""
    if machine.follows and memory.proof(machine.follows).state != Stage.GIVEN_UP:
        return False
    return memory.proof(machine.name).state not in machine.ended


# -- files -----------------------------------------------------------------------------------------------------


def _transcript_obstacle(known: Known, transcript: Transcript | Unknown) -> Verdict | None:
    if isinstance(transcript, Unknown):
        return TRANSCRIPT_READABLE.unknown(transcript)
    if known.memory.lost_keys(transcript.keys):
        why = "keys that were in the session file are gone: it was replaced or truncated"
        return TRANSCRIPT_READABLE.unknown(why)
    return None


def _gather(known: Known, runs: Iterable[str], registry: Registry, transcript: Transcript) -> Commands:
    keys = fold(transcript.keys)
    for run in runs:
        facts = Facts(
            known.launcher,
            known.settings,
            run,
            run in registry,
            known.activities[run],
            (yield ReadRun(run)),
            transcript,
            keys.get(run, NOTHING),
            ran_in=known.runs[run].noting.ran_in,
            before=known.runs[run].standing,
            was_connected=known.runs[run].was_connected,
        )
        known.facts[run] = facts
        known.runs[run] = _recognized(known.runs[run], facts)


def _as_the_keys_say(machine: Machine, proof: Proof, keys: RunKeys) -> Proof:
    found = proof.found.what if proof.found is not None else ""
    return proof.stands_at(machine.stands(keys, proof.state, found))


def _recognized(memory: RunMemory, facts: Facts) -> RunMemory:
    """The memory of a run with what its files and keys say now."""
    proofs = {
        machine.name: _as_the_keys_say(machine, memory.proof(machine.name), facts.keys)
        for machine in MACHINES
    }
    return replace(
        memory,
        name=facts.name or memory.name,
        session_file=facts.script.session_file if facts.script else memory.session_file,
        proofs=proofs,
        noting=noting.with_keys(memory.noting, facts.keys, facts.script.surface if facts.script else ""),
    )


def _settle(known: Known) -> None:
    for run, facts in list(known.facts.items()):
        verdicts = (one(facts) for one in (SETTLING_TRACKED if facts.tracked else SETTLING))
        verdict = next((verdict for verdict in verdicts if verdict.answer is Answer.NO), None)
        if verdict is not None:
            memory = known.runs[run].start_over()
            known.runs[run] = replace(memory, settled=verdict, obstacle=verdict, machine="")
            del known.facts[run]


# -- panes -----------------------------------------------------------------------------------------------------


def _look_at_panes(known: Known) -> Commands:
    askers = [run for run in known.facts if any(_wants_roster(known, run, machine) for machine in MACHINES)]
    if askers:
        roster: Roster | Unknown = yield ListSessions()
        for run in askers:
            known.learn(run, roster=roster)
    wanting = [run for run in known.facts if _wants_panes(known, run)]
    if wanting:
        panes: Panes | Unknown = yield ListPanes()
        for run in known.facts:
            known.learn(run, panes=panes)
        yield from _warn_of_second_pi(known)
    for run in list(known.facts):
        if _is_under_way(known, run):
            continue
        if run in wanting:
            yield from _look_at_pane(known, run)
        if not known.facts[run].tracked:
            yield from _hear_witnesses(known, run)
            _judge(known, run, asked=run in wanting)


def _is_under_way(known: Known, run: str) -> bool:
    return any(known.runs[run].proof(machine.name).state in machine.under_way for machine in MACHINES)


def _may_find(known: Known, run: str, machine: Machine) -> bool:
    """Whether nothing on the disk speaks against it."""
    if not _may_go_on(known.runs[run], machine) or _is_under_way(known, run):
        return False
    return first_obstacle(known.facts[run], machine.by_files) is None


def _wants_roster(known: Known, run: str, machine: Machine) -> bool:
    return bool(machine.by_roster) and _may_find(known, run, machine)


def _wants_panes(known: Known, run: str) -> bool:
    facts = known.facts[run]
    if _is_under_way(known, run):
        return True
    if facts.tracked:
        return not known.runs[run].noting.noted and noting.may_be_noted(facts)
    return any(
        _may_find(known, run, machine) and first_obstacle(facts, machine.by_roster) is None
        for machine in MACHINES
    )


def _look_at_pane(known: Known, run: str) -> Commands:
    pane = _pane_to_ask(known, run)
    if pane is not None:
        known.learn(run, processes=(yield ProcessInfo(pane.id)))
    facts = known.facts[run]
    if conditions.runs_its_script(facts).holds and facts.pane is not None:
        yield from noting.note_running(known, run, facts.pane)
    elif facts.tracked and not isinstance(facts.panes, Unknown):
        noting.missed(known, run)


def _hear_witnesses(known: Known, run: str) -> Commands:
    """Only for a run that everything cheaper speaks for."""
    facts = known.facts[run]
    for machine in MACHINES:
        if _may_find(known, run, machine) and first_obstacle(facts, machine.before_witnesses) is None:
            if facts.roster is NOT_ASKED:
                yield from _ask_roster(known)
            known.facts[run] = yield from machine.hear(known.facts[run])
            return


def _ask_roster(known: Known) -> Commands:
    """Once a look, for whoever needs it."""
    roster: Roster | Unknown = yield ListSessions()
    for run in known.facts:
        known.learn(run, roster=roster)


def _pane_to_ask(known: Known, run: str) -> Pane | None:
    """The pane whose processes decide something: who is to be asked, closed, or noted as running."""
    facts = known.facts[run]
    if not conditions.launcher_is_alone(facts).holds:
        return None
    for machine in MACHINES:
        if (
            _may_find(known, run, machine)
            and first_obstacle(facts, machine.by_roster + machine.by_panes) is None
        ):
            return machine.pane(facts)
    if facts.pane is None or facts.pane.terminal in (None, facts.keys.terminal):
        return None
    return facts.pane if noting.may_be_noted(facts) else None


def _warn_of_second_pi(known: Known) -> Commands:
    facts = next(iter(known.facts.values()))
    verdict = conditions.launcher_is_alone(facts)
    if verdict.why and not isinstance(facts.panes, Unknown) and known.first_time("second pi"):
        yield Notify("warning", second_pi(verdict.why))


# -- judging ---------------------------------------------------------------------------------------------------


def _judge(known: Known, run: str, *, asked: bool) -> None:
    """Every machine takes the look in: at most one of them can find the run."""
    for machine in MACHINES:
        _judge_by(known, run, machine, asked=asked)
    machine = machine_to_name(known.facts[run], known.runs[run], asked=asked)
    obstacle = known.runs[run].proof(machine.name).obstacle
    facts = known.facts[run]
    connected = facts.was_connected or facts.is_connected
    known.remember(
        run,
        machine=machine.called(facts),
        obstacle=obstacle,
        standing=facts.standing,
        was_connected=connected,
    )


def _judge_by(known: Known, run: str, machine: Machine, *, asked: bool) -> None:
    """A machine that has ended keeps the obstacle it ended with."""
    facts, proof = known.facts[run], known.runs[run].proof(machine.name)
    if not _may_go_on(known.runs[run], machine):
        return
    obstacle = first_obstacle(facts, machine.conditions)
    if obstacle is None:
        proof = proof.take_found(machine.table, machine.found(facts), known.now, known.settings.interval)
    else:
        missed = (asked or bool(machine.follows)) and machine.is_miss(facts, obstacle)
        proof = proof.take_obstacle(machine.table, obstacle, machine.last_miss, missed=missed)
    known.prove(run, machine.name, proof)


def _only_observe(known: Known) -> None:
    verdict = CLOCKS_AGREE.unknown("the clock jumped or the host slept; this look only observes")
    _see_nothing(known, verdict, known.facts)
    known.facts.clear()


def _see_nothing(known: Known, verdict: Verdict, runs: Iterable[str]) -> None:
    """A look that saw nothing: every run is Unknown, and every proof starts again."""
    for run in runs:
        if known.runs[run].settled is None:
            known.runs[run] = replace(known.runs[run].start_over(), obstacle=verdict, machine="")


# -- the result ------------------------------------------------------------------------------------------------


def _result(known: Known) -> Look:
    """A thousand old runs say every time what they said before."""
    before = known.memory
    reports = {
        run: before.reports[run]
        if run in before.reports and before.runs[run] is memory
        else report_of(run, memory)
        for run, memory in known.runs.items()
    }
    absent = {run: before.runs[run].start_over() for run in before.runs.keys() - known.runs.keys()}
    memory = Memory({**absent, **known.runs}, known.now, known.keys, frozenset(known.warned), reports)
    return Look(tuple(reports.values()), memory)
