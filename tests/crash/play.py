"""One look of one history of the exhaustive search: evidence by choice, effects with every outcome, kills around them.

Evidence is chosen only when the core asks for it, so what cannot matter is never multiplied. At every effect there are
four outcomes; while a key is written, something may move; around every effect the process may be killed and started
again with an empty memory, by itself (a reload: what the session has queued stays queued) or with its launcher (what was
queued is gone).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from crash import evidence
from crash.alphabet import (
    ACTIVITIES,
    AFTER_CLOSE,
    AFTER_HANDING,
    AGREES,
    CHAINS,
    GROWN,
    HOLDERS,
    MOVED,
    MOVES,
    OUTCOMES,
    PANES,
    PIS,
    REWRITTEN,
    ROSTER,
    TAILS,
    WANTED,
)
from crash.judge import (
    BrokenInvariantError,
    Record,
    Truth,
    Warnings,
    is_no_typing,
    judge,
    sent,
    taken,
    undone,
    warned,
)
from crash.states import NOW, Choices, CoveredError, Run, State, rebased

from strawboss.recovery import commands as c
from strawboss.recovery.again import MOST_TIMES
from strawboss.recovery.commands import Command, Outcome, Read, Result, SessionState
from strawboss.recovery.evidence import Holders, KeyEntry, Pane, Process, Resume, RunFiles, Transcript
from strawboss.recovery.look import look_at_runs
from strawboss.recovery.memory import Memory
from strawboss.recovery.proof import Stage
from strawboss.recovery.settings import Beyond, Settings

UNSAID = evidence.activity("active")


class Activities(Mapping[str, Any]):
    """Chooses what an activity file says only when it is read. `read`: what was said."""

    def __init__(self, play: Play) -> None:
        self._play = play
        self.read: dict[str, Any] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._play.runs)

    def __len__(self) -> int:
        return len(self._play.runs)

    def __getitem__(self, run: str) -> Any:
        if run not in self.read:
            self.read[run] = self._play.activity(run)
        return self.read[run]


@dataclass(slots=True)
class Play:
    """One look of one history: answers the core's commands by choice, judges what it does.

    `chosen`: what was chosen so far; `moved`: what was chosen before it moved, within this look. `awaiting`: the run whose
    key is written and whose act has not left, where nothing else has moved: a result may land before any read.
    `faults`: whether effects may fail and the world may change within the look.
    `acting`: evidence with which this state's paths began to act, None: every path is followed to its end.
    `kills`: the states in which a kill would leave the world, each with the number of commands before it.
    """

    state: State
    choices: Choices
    chosen: dict[str, str]
    faults: bool = True
    alphabet: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    settings: Settings = evidence.SETTINGS
    acting: dict[object, dict[str, str]] | None = None
    acted: bool = False
    moved: dict[str, str] = field(default_factory=dict)
    awaiting: str = ""
    runs: dict[str, Run] = field(default_factory=dict)
    script: list[tuple[Command, Any]] = field(default_factory=list)
    kills: list[tuple[State, int]] = field(default_factory=list)
    monotonic: float = 0.0

    def play(self) -> State:
        """The state after the look."""
        self.runs = {run.id: self._queue_moves(run) for run in self.state.runs}
        self._may_be_killed()
        steps = look_at_runs(evidence.LAUNCHER, self.settings, self.state.memory, NOW)
        answer: Any = None
        while True:
            try:
                command = steps.send(answer)
            except StopIteration as end:
                memory = rebased(end.value.memory)
                return State(tuple(self._at_end(run, memory) for run in self.runs.values()), memory)
            except (LookupError, AssertionError, TypeError, ValueError) as error:
                raise BrokenInvariantError("no look breaks", repr(error)) from error
            is_no_typing(command)
            self.script.append((command, None))
            self._result_may_land(command)
            answer = ANSWERS[type(command)](self, command)
            self.script[-1] = (command, answer)

    def told(self, commands: int = 0) -> tuple[tuple[Command, Any], ...]:
        """The script so far, or its first commands, with the activity as a plain mapping."""
        script = self.script[: commands or len(self.script)]
        return tuple((command, self._plain(answer)) for command, answer in script)

    def _plain(self, answer: Any) -> Any:
        if not isinstance(answer, Activities):
            return answer
        return {run: answer.read.get(run, UNSAID) for run in self.runs}

    def _at_end(self, run: Run, memory: Memory) -> Run:
        """A look that lived to its end has left nothing half done, and is what the next one is compared with."""
        undone(run.record)
        proofs = memory.runs[run.id].proofs.values() if run.id in memory.runs else ()
        found = any(proof.state == Stage.FOUND_ONCE for proof in proofs)
        heard = found and self._said("tail", run) not in {None, "unknown"}
        agreed = self._said("roster", run) in {None, *AGREES}
        return replace(run, heard=heard and agreed, record=run.record.at_look_start())

    def _queue_moves(self, run: Run) -> Run:
        """Between two looks a queued message is taken or dropped, or the session is still busy."""
        if not run.record.queued:
            return run
        record = run.record
        fate = self.choose(f"queue {run.id}", ("taken", "dropped", "queued") if self.faults else ("taken",))
        if fate == "queued":
            return run
        return replace(
            run,
            record=taken(replace(record, queued=0), run.lies_in)
            if fate == "taken"
            else replace(record, queued=0),
        )

    # -- choices -----------------------------------------------------------------------------------------------

    def choose(self, name: str, options: tuple[str, ...]) -> str:
        """The same thing twice in one look is one choice."""
        if name not in self.chosen:
            self.chosen[name] = self.choices.choose(name, self._allowed(name, options))
        return self.chosen[name]

    def outcome(self, what: str, options: tuple[str, ...] = OUTCOMES) -> str:
        if not self.faults:
            return options[0]
        self._skip_what_is_covered(what)
        return self.choices.choose(what, self._allowed(what, options))

    def _allowed(self, name: str, options: tuple[str, ...]) -> tuple[str, ...]:
        kind, before = name.split()[0], self.moved.get(name)
        if before is not None:
            return tuple(option for option in MOVED.get(kind, options) if option != before)
        allowed = self.alphabet.get(kind, options)
        return tuple(option for option in options if option in allowed) or options

    def _skip_what_is_covered(self, what: str) -> None:
        """Once the core acts, evidence that no step of the act reads makes no other history (`acting`)."""
        if self.acting is None or self.acted:
            return
        self.acted = True
        read = {name: value for name, value in self.chosen.items() if self._is_read(name)}
        ignored = {name: value for name, value in self.chosen.items() if name not in read}
        if self.acting.setdefault((what, frozenset(read.items())), ignored) != ignored:
            raise CoveredError

    def _is_read(self, name: str) -> bool:
        what, _, run = name.partition(" ")
        return what != "activity" or not self.chosen.get(f"pane {run}", "").startswith("plain")

    def known(self, name: str, *values: str) -> str:
        """One of the values, or unknown; a continuation is fair and sees everything."""
        return self.choose(name, (*values, "unknown") if self.faults else values)

    def activity(self, run: str) -> Any:
        if self.runs[run].past:
            return UNSAID
        said = self.known(f"activity {run}", *self._or_moved(f"activity {run}", run, ACTIVITIES, REWRITTEN))
        if said == REWRITTEN:
            return evidence.activity("waiting", 1)
        return evidence.UNREADABLE if said == "unknown" else evidence.activity(said)

    def _or_moved(self, name: str, run: str, options: tuple[str, ...], moved: str) -> tuple[str, ...]:
        """Only what was heard before can be seen to move."""
        memory = self.state.memory.runs.get(run)
        heard = memory is not None and memory.standing is not None
        return (*options, moved) if name in self.moved or (heard and self.faults) else options

    # -- the reads ---------------------------------------------------------------------------------------------

    def registry(self, _: c.ReadRegistry) -> Any:
        tracked = {run: self.known(f"registry {run}", "untracked", "tracked") for run in self._present()}
        if "unknown" in tracked.values():
            return evidence.UNREADABLE
        return frozenset(run for run, what in tracked.items() if what == "tracked")

    def _present(self) -> list[str]:
        return [run.id for run in self.runs.values() if not run.past]

    def _on(self, session_file: str) -> Run:
        """The run of which that file is the session now."""
        return next(
            run
            for run in self.runs.values()
            if not run.past and evidence.session_file(run.file) == session_file
        )

    def files(self, command: c.ReadRun) -> RunFiles:
        run = self.runs[command.run]
        if not run.past and self.known(f"files {run.id}", "known") == "unknown":
            return RunFiles(*[evidence.UNREADABLE] * 4)
        return evidence.files(run.id, run.kind, run.surface, resumes=run.resumes)

    def transcript(self, _: c.ReadTranscript) -> Any:
        whole = self.choose("transcript", ("whole", "unknown", "torn") if self.faults else ("whole",))
        if whole == "unknown":
            return evidence.UNREADABLE
        for run in map(self.runs.__getitem__, self._present()):
            if not run.reported and self.choose(f"result {run.id}", ("missing", "there")) == "there":
                self.runs[run.id] = replace(run, reported=True)
        runs = tuple(self.runs.values())
        return Transcript(
            tuple(entry for run in runs for entry in run.record.keys),
            # The run that was resumed has reported too, before that.
            frozenset(evidence.session_file(run.file) for run in runs if run.reported or run.resumes),
            told=tuple(run.id for run in runs for _ in range(run.record.told)),
            torn_keys=frozenset({"*"} if whole == "torn" else ()),
            resumes=tuple(resume for run in runs if run.resumes for resume in self._chain(run)),
            results_at={evidence.session_file(run.file): 100 * run.reported for run in runs if run.resumes},
        )

    def _chain(self, run: Run) -> tuple[Resume, ...]:
        """Every resume of its session file so far: places 1, 2 … its own."""
        before = tuple(evidence.resume(f"{at:08x}", run.file, at) for at in range(1, run.generation))
        own = evidence.resume(run.id, run.file, run.generation)
        chain = self.choose(f"chain {run.id}", CHAINS if self.faults else CHAINS[:1])
        return before + {"whole": (own,), "missing": (), "doubled": (own, own)}[chain]

    def roster(self, _: c.ListSessions) -> Any:
        peers = [evidence.LAUNCHER_PEER]
        for run in map(self.runs.__getitem__, self._present()):
            status = self.known(f"roster {run.id}", *ROSTER)
            if status == "unknown":
                return evidence.UNREADABLE
            if status == "silent":
                return evidence.NO_BROKER
            self.runs[run.id] = replace(run, connected=run.connected or status in {"idle", "busy"})
            if status == "elsewhere":
                peers.append(evidence.child_peer(run.id, "w9:p9", resumes=run.resumes))
            elif status != "absent":
                peers.append(evidence.child_peer(run.id, run.surface, status, resumes=run.resumes))
        return tuple(peers)

    def panes(self, _: c.ListPanes) -> Any:
        panes = [evidence.LAUNCHER_PANE]
        for run in list(self.runs.values()):
            kind = self.pane_kind(run)
            if kind == "unknown":
                return evidence.UNREADABLE
            if kind != "gone":
                panes.append(self._pane(run, kind))
        return tuple(panes)

    def pane_kind(self, run: Run) -> str:
        if run.past:
            return "gone"
        options = AFTER_CLOSE if run.record.closed else PANES
        if run.was_restored:
            terminals = AFTER_HANDING[max(int(run.lies_in.rpartition(".")[2]) - 2, 0) :]
            options = tuple(option for terminal in terminals for option in terminal)
        return self.choose(f"pane {run.id}", options if self.faults else options[:-1])

    def terminal(self, run_id: str) -> str:
        """Terminals are told apart only by whether the script ran in them."""
        run, kind = self.runs[run_id], self.chosen.get(f"pane {run_id}", "unknown")
        if f"terminal {run_id}" not in self.chosen:
            first, second, third, fourth = (run.terminal(number) for number in range(1, 5))
            before = run.ran_in or first
            other = second if before == first else first
            of_kind = {"new": other, "newer": third, "last": fourth}.get(kind.rpartition(" ")[2], before)
            self.chosen[f"terminal {run_id}"] = of_kind
        return self.chosen[f"terminal {run_id}"]

    def _pane(self, run: Run, kind: str) -> Pane:
        terminal = self.terminal(run.id)
        self.runs[run.id] = replace(self.runs[run.id], lies_in=terminal)
        session = None if kind.startswith("shell") else evidence.session_file(run.file)
        agent = None if kind.startswith(("shell", "stored")) else "pi"
        return Pane(run.surface, terminal, agent, "idle", session)

    def processes(self, command: c.ProcessInfo) -> Any:
        run = next(run for run in self.runs.values() if run.surface == command.pane)
        kind = self.pane_kind(run)
        if kind in {"gone", "unknown"} or self.known(f"processes {run.id}", "known") == "unknown":
            return evidence.UNREADABLE
        if kind.startswith("script"):
            self.runs[run.id] = replace(run, ran_in=self.terminal(run.id))
            return evidence.child_processes(run.id)
        return evidence.PLAIN if kind.startswith("plain") else evidence.SHELL

    def tail(self, command: c.ReadTail) -> Any:
        run = self._on(command.session_file)
        stands = self.known(f"tail {run.id}", *self._or_moved(f"tail {run.id}", run.id, TAILS, GROWN))
        if stands == GROWN:
            return evidence.tail(run.file, "cut", 1)
        return evidence.UNREADABLE if stands == "unknown" else evidence.tail(run.file, stands)

    def forks(self, command: c.FindForks) -> Any:
        run = self._on(command.session_file)
        if self._is_spoken_against(run):
            return ()
        found = self.known(f"fork {run.id}", "none", "there")
        return {"none": (), "there": (f"/s/fork-of-{run.id}.jsonl",)}.get(found, evidence.UNREADABLE)

    def _is_spoken_against(self, run: Run) -> bool:
        """One obstacle is enough, where what is asked after it is not remembered."""
        if self._said("tail", run) == GROWN:
            return True
        return run.kind != "worktree" and self._said("roster", run) in {"busy", "elsewhere", "unknown"}

    def holders(self, command: c.FindHolders) -> Any:
        run = self._on(command.session_file)
        if run.notes_pi and self._said("roster", run) not in {None, "absent"}:
            return Holders()  # one obstacle is enough
        said = self.known(f"holders {run.id}", *HOLDERS)
        naming = (Process(90, name="pi", argv=("pi", command.session_file)),) if said == "named" else ()
        return (
            evidence.UNREADABLE if said == "unknown" else Holders(naming, silent=(91,) * (said == "silent"))
        )

    def identify(self, command: c.Identify) -> Any:
        run = next(run for run in self.runs.values() if evidence.pid(run.id) == command.pid)
        if self.chosen.get(f"pane {run.id}", "").startswith("script"):
            return evidence.identity(run.id)
        said = self.known(f"pi {run.id}", *PIS)
        return {"gone": None, "alive": evidence.identity(run.id)}.get(said, evidence.UNREADABLE)

    def session(self, _: c.ReadSession) -> Any:
        queued = any(run.record.queued for run in self.runs.values())
        options = ("busy", "unknown") if queued else ("idle", "busy", "unknown", "compacting")
        stands = self.choose("session", options if self.faults else options[:1])
        if stands == "unknown":
            return evidence.UNREADABLE
        return SessionState(idle=stands == "idle", compacting=stands == "compacting")

    # -- the effects -------------------------------------------------------------------------------------------

    def write_key(self, command: c.WriteKey) -> Any:
        run = self.runs[command.run]
        record = replace(run.record, asked_keys=run.record.asked_keys | {command.key})
        act = "claim" if command.key == "lost" and "then" in command.data else command.key
        if act in {"resumed", "lost", "claim"}:
            judge(act, record, self.truth(run, act))
        outcome = self.outcome(f"key {command.key} {run.id}")
        if outcome.startswith("done"):
            entry = KeyEntry(command.key, command.run, dict(command.data))
            record = replace(record, keys=(*record.keys, entry))
        if outcome == "done":
            record = replace(record, sure_keys=record.sure_keys | {command.key})
        self._happened(run.id, record)
        if outcome == "done" and self.faults:
            self._world_moves(command.key, run.id)
        return {"done": True, "failed": False}.get(outcome, evidence.UNREADABLE)

    def _world_moves(self, key: str, run: str) -> None:
        """While a key is being written, one of the witnesses may come to say something else."""
        names = {what: what if what == "transcript" else f"{what} {run}" for what in MOVES.get(key, ())}
        options = ("nothing", *(what for what, name in names.items() if name in self.chosen))
        if len(options) == 1 or self._has_moved_before(key, run):
            return
        what = self.choices.choose(f"moves {run}", self._allowed(f"moves {run}", options))
        if what == "nothing" and "result" in self._allowed(f"moves {run}", options):
            self.awaiting = run
        if what != "nothing":
            self.moved[names[what]] = self.chosen.pop(names[what])
        if what == "pane":
            self.chosen.pop(f"terminal {run}", None)
            self.chosen.pop(f"processes {run}", None)

    def _result_may_land(self, command: Command) -> None:
        """Before whatever is read between a key and its act; what moves while the key is written is `_world_moves`."""
        run = self.runs.get(self.awaiting)
        if run is None or not isinstance(command, Read):
            self.awaiting = ""
        elif self.choices.choose(f"lands {run.id}", ("not yet", "now")) == "now":
            self.runs[run.id], self.awaiting = replace(run, reported=True), ""

    def _has_moved_before(self, key: str, run: str) -> bool:
        """Which evidence the act was begun with is the same to what moves then (`acting`)."""
        if self.acting is None:
            return False
        return self.acting.setdefault(("moves", key, run), dict(self.chosen)) != self.chosen

    def close(self, command: c.ClosePane) -> Result:
        run = next(run for run in self.runs.values() if run.surface == command.pane)
        judge("close", run.record, self.truth(run, "close"))
        outcome = self.outcome(f"close {run.id}", (*OUTCOMES, "ignored"))
        if outcome.startswith("done"):
            self._happened(run.id, replace(run.record, closed=run.record.closed + 1))
            self.chosen[f"pane {run.id}"] = "gone"
            if self.outcome("listed", ("listed", "unknown")) == "unknown":
                self.chosen[f"pane {run.id}"] = "unknown"
        return _result("done" if outcome == "ignored" else outcome)

    def send(self, command: c.SendIntercom) -> Result:
        run = next(
            run
            for run in self.runs.values()
            if evidence.session_id(run.file) == command.session and not run.past
        )
        act = "continue" if run.record.continuing else "ask"
        judge(act, run.record, self.truth(run, act))
        outcome = self.outcome(f"send {run.id}")
        # The attempt counts: what failed is not tried again.
        self._happened(run.id, sent(run.record, act, run.lies_in))
        return _result(outcome)

    def tell(self, command: c.TellLauncher) -> Result:
        for run in map(self.runs.__getitem__, command.runs):
            of_a_claim = run.record.claimed and not run.record.closed
            judge("tell", run.record, self.truth(run, "tell of a claim" if of_a_claim else ""))
        outcome = self.outcome("tell", OUTCOMES)
        if outcome.startswith("done"):
            fate = self.outcome("taken", ("taken", "queued", "dropped"))
            for run in command.runs:
                one = self.runs[run]
                record = replace(one.record, queued=one.record.queued + (fate == "queued"))
                self.runs[run] = replace(
                    one, record=taken(record, one.lies_in) if fate == "taken" else record
                )
            self._may_be_killed()
        return _result(outcome)

    def notify(self, command: c.Notify) -> None:
        if command.level != "warning":
            return
        present = {run: evidence.session_file(self.runs[run].file) for run in self._present()}
        for run in Warnings(present).of(command.text):
            one = self.runs[run]
            self._happened(run, warned(one.record, self.truth(one), command.text))

    def pause(self, command: c.Pause) -> float:
        self.monotonic += 5 * (command.seconds > 0)  # a poll that takes long: the wait has one round
        return self.monotonic

    # -- judging -----------------------------------------------------------------------------------------------

    def truth(self, run: Run, act: str = "") -> Truth:
        kind = self.chosen.get(f"pane {run.id}", "unknown").split()
        held_by = {"script": "child", "plain": "restored", "gone": "nobody", "stored": "shell"}
        occupant = held_by.get(kind[0], kind[0])
        if occupant == "restored" and (run.ran_in is None or self.terminal(run.id) == run.ran_in):
            occupant = "person"
        if (occupant == "shell" or act == "lost") and self._said("processes", run) == "unknown":
            occupant = "unknown"
        return Truth(
            run.kind,
            tracked=self.chosen.get(f"registry {run.id}") != "untracked",
            reported=run.reported,
            occupant=occupant,
            doubts=tuple(self._doubts(run, act)),
            at_work=self._at_work(run),
            forked=self._said("fork", run) == "there",
            grown=self._said("tail", run) == GROWN,
            stranding=run.lies_in if run.kind == "worktree" else "",
            again=self._again(run),
        )

    def _doubts(self, run: Run, act: str) -> Iterator[str]:
        """Who must have agreed to that act, and has not."""
        wanted = dict(WANTED.get(act, {}))
        if act == "lost" and not run.notes_pi:
            del wanted["pi"]
            if self._said("tail", run) == "unknown":
                del wanted["roster"]  # nobody knows under which id, nor with which pid, it would be there
        if run.resumes and wanted:
            wanted["chain"] = ("whole",)
        for name, values in wanted.items():
            if self._said(name, run) not in values and not (name == "result" and run.reported):
                yield f"{name} is {self._said(name, run) or 'not known'}"
        if act == "lost" and run.record.handed_in and self._is_where_it_was_told(run):
            yield "its pane is the one in which its launcher was told of it"
        if "processes" in wanted and not run.heard:
            yield "nobody knows how far it had come at the look before, or somebody said otherwise"
        if "processes" in wanted and run.connected and self._said("roster", run) == "silent":
            yield "a broker that knew it is gone"

    def _is_where_it_was_told(self, run: Run) -> bool:
        return self._said("pane", run) != "gone" and run.lies_in in run.record.told_in

    def _again(self, run: Run) -> str:
        """Why what was recovered before is not to be recovered again."""
        times = len(run.record.told_in - {run.lies_in}) if run.kind == "worktree" else run.generation
        if times >= MOST_TIMES:
            return "it was recovered often enough"
        asked_for = not times or self.settings.resumed is Beyond.RECOVER
        return "" if asked_for else "it was recovered before, and nobody asked for more"

    def _said(self, name: str, run: Run) -> str | None:
        return self.chosen.get(name, self.chosen.get(f"{name} {run.id}"))

    def _at_work(self, run: Run) -> str:
        if self._said("roster", run) == "busy":
            return "the roster says that it works"
        if self._said("tail", run) == GROWN or self._said("activity", run) == REWRITTEN:
            return "its files have grown since the look before"
        return ""

    def _happened(self, run: str, record: Record) -> None:
        self.runs[run] = replace(self.runs[run], record=record)
        self._may_be_killed()

    def _may_be_killed(self) -> None:
        if self.faults and self.choices.are_new:
            left = State(tuple(self.runs.values()), Memory())
            queued = any(run.record.queued for run in self.runs.values())
            for launcher in (False, True)[: 1 + queued]:
                self.kills.append((left.killed(launcher=launcher), len(self.script)))


def _result(outcome: str) -> Result:
    words = {"done": Outcome.DONE, "failed": Outcome.FAILED}
    return Result(words.get(outcome, Outcome.UNKNOWN), "" if outcome == "done" else outcome)


ANSWERS: Mapping[type, Any] = {
    c.ReadRegistry: Play.registry,
    c.ReadRuns: lambda play, _: Activities(play),
    c.ReadRun: Play.files,
    c.ReadTranscript: Play.transcript,
    c.ListSessions: Play.roster,
    c.ListPanes: Play.panes,
    c.ProcessInfo: Play.processes,
    c.FindForks: Play.forks,
    c.FindHolders: Play.holders,
    c.Identify: Play.identify,
    c.ReadTail: Play.tail,
    c.ReadSession: Play.session,
    c.WriteKey: Play.write_key,
    c.ClosePane: Play.close,
    c.SendIntercom: Play.send,
    c.TellLauncher: Play.tell,
    c.Notify: Play.notify,
    c.Pause: Play.pause,
}
