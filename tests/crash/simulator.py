"""A small model of the world outside: herdr, the broker, the disk, a launcher's session. It answers and judges.

Long histories run on it (`test_long_histories.py`). It knows who sits in each pane, whatever herdr shows of it, and keeps
a record of what really happened to each run beside the keys in the session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from crash import evidence
from crash.judge import (
    BrokenInvariantError,
    Record,
    Truth,
    Warnings,
    has_converged,
    is_no_typing,
    judge,
    sent,
    taken,
    warned,
)

from strawboss.recovery import commands as c
from strawboss.recovery.again import MOST_TIMES
from strawboss.recovery.commands import Command, Outcome, Result, SessionState
from strawboss.recovery.evidence import Clock, Holders, KeyEntry, Pane, RunFiles, Transcript
from strawboss.recovery.look import look_at_runs
from strawboss.recovery.memory import Memory
from strawboss.recovery.restored.numbers import LAST_MISS
from strawboss.recovery.settings import Beyond, Settings
from strawboss.tape.look_lines import Steps
from strawboss.tape.writer import Tape

ON_SESSION = frozenset({"child", "restored", "person"})
FAIR_LOOKS = (
    LAST_MISS + 4
)  # misses that give up, two looks to prove that it is lost, one to hand it over, one more
# What every act on a child or its pane must have heard.
WITNESSES = ("registry", "runs", "files", "transcript", "roster", "panes", "processes", "tail", "forks")
# What must be heard before a run is called lost, and before it is resumed.
LEFT = ("registry", "runs", "files", "transcript", "roster", "panes", "holders", "forks")
HOLDING = (*LEFT, "tail", "pi")
MEANWHILE = ("result", "tracked", "says", "writes", "forked", "torn")
OUTSIDE = 7000  # pids of pi outside herdr are that much higher


@dataclass(slots=True)
class Spot:
    """A pane: `occupant` child | restored | person | shell, on that run's session file unless a shell.

    `status`: what herdr says, which may be frozen. `work`: what its pi really does: nothing, or it `says` so to the
    roster while its files stand still (a long tool), or it `writes` while the roster still takes it for idle.
    """

    id: str
    terminal: str
    occupant: str
    run: str
    status: str = "idle"
    registered: bool = True  # herdr knows which session its pi is on
    work: str = ""


@dataclass(slots=True)
class Child:
    """`resumes`: the run whose session file it goes on with, `generation`: how often that file has been resumed, `began`: at
    which place of the launcher's file. `stands`: how its last turn does. `steps`, `written`: how often its session and its
    activity file have grown. `forked`: its session goes on in a newer file. `torn`: a line of the launcher's file that may
    hold a key of it is. `outside`: a pi in a terminal outside herdr is on its session, `connected` to the broker or
    `silent`.
    """

    id: str
    kind: str
    surface: str
    resumes: str = ""
    generation: int = 0
    began: int = 0
    reported_at: int = 0
    lies_in: str = ""
    phase: str = "active"
    stands: str = "cut"
    steps: int = 0
    written: int = 0
    reported: bool = False
    ended: bool = False
    forked: bool = False
    torn: bool = False
    outside: str = ""
    record: Record = field(default_factory=Record)

    @property
    def file(self) -> str:
        """The run whose session file it is on."""
        return self.resumes or self.id

    @property
    def noted(self) -> str | None:
        """The terminal of the last `seen` key in the file."""
        seen = [str(entry.data["terminal"]) for entry in self.record.keys if entry.key == "seen"]
        return seen[-1] if seen else None


@dataclass(slots=True)
class World:
    """`outages`: what cannot be read now. `outcomes`: how the next effects end; after that all succeed. `meanwhile`: what
    happens to a run while a key of it is written.
    """

    children: dict[str, Child] = field(default_factory=dict)
    settings: Settings = evidence.SETTINGS
    spots: list[Spot] = field(default_factory=list)
    registry: set[str] = field(default_factory=set)
    queue: list[tuple[str, ...]] = field(default_factory=list)
    memory: Memory = field(default_factory=Memory)
    outages: set[str] = field(default_factory=set)
    outcomes: list[str] = field(default_factory=list)
    meanwhile: str = ""
    busy: bool = False
    compacting: bool = False
    monotonic: float = 0.0
    wall: float = 0.0
    place: int = 0  # how long the launcher's file is
    made: int = 1  # w1:p1 is the launcher's
    tapes: Callable[[], Tape] | None = None  # a process begins another one
    tape: Tape | None = None

    # -- what people, herdr and pi do ----------------------------------------------------------------------------

    def fresh(self, what: str) -> str:
        self.made += 1
        return f"{what}{self.made}"

    def start_run(self, kind: str, resumes: Child | None = None) -> None:
        run = f"{len(self.children) + 0x2A2B3C4D:08x}"
        pane = self.fresh("w1:p")
        self.children[run] = Child(run, kind, pane, began=self.next_place())
        if resumes is not None:
            generation, steps = resumes.generation + 1, resumes.steps + 1
            self.children[run] = replace(
                self.children[run], resumes=resumes.file, generation=generation, steps=steps
            )
        self.spots.append(Spot(pane, self.fresh("t"), "child", run, "working"))
        self.registry.add(run)

    def next_place(self) -> int:
        self.place += 1
        return self.place

    def is_past(self, child: Child) -> bool:
        """Whether it was resumed as another run."""
        return any(one.file == child.file and one.began > child.began for one in self.children.values())

    def on(self, child: Child) -> list[Spot]:
        """The panes whose pi is on its session file."""
        return [
            spot
            for spot in self.spots
            if spot.occupant in ON_SESSION and self.children[spot.run].file == child.file
        ]

    def outside(self, child: Child) -> set[str]:
        """How pi outside herdr are on its session file."""
        return {one.outside for one in self.children.values() if one.file == child.file} - {""}

    def spot_of(self, run: str) -> Spot | None:
        return next((spot for spot in self.spots if spot.run == run), None)

    def restart_launcher(self) -> None:
        self.registry.clear()
        self.settle(taken=False)
        self.reload()

    def reload(self) -> None:
        """A new session start; what the session has queued stays queued."""
        self.memory, self.tape = Memory(), None
        for child in self.children.values():
            child.record = child.record.at_session_start()

    def restart_herdr(self) -> None:
        """Every process in a pane dies; a plain pi comes back where herdr knew a session, else a shell."""
        for spot in self.spots:
            known = spot.occupant in ON_SESSION and spot.registered
            spot.occupant = "restored" if known else "shell"
            spot.terminal, spot.status, spot.registered, spot.work = self.fresh("t"), "idle", True, ""
        self.restart_launcher()

    def hand_over_live(self) -> None:
        for spot in self.spots:
            spot.terminal = self.fresh("t")

    def happen(self, what: str, child: Child) -> None:
        """What can make an act wrong at any moment."""
        spot = self.spot_of(child.id)
        if what == "result":
            child.reported, child.reported_at = True, self.next_place()
            self.registry.discard(child.id)
        elif what == "tracked":
            self.registry.add(child.id)
        elif what in {"says", "writes"} and spot is not None and spot.occupant in ON_SESSION:
            spot.work = what
            self._grow()
        elif what in {"forked", "torn"}:
            setattr(child, what, True)

    def _grow(self) -> None:
        for spot in self.spots:
            if spot.work == "writes":
                self.children[spot.run].steps += 1
                self.children[spot.run].written += 1

    # -- one look --------------------------------------------------------------------------------------------------

    def look(self, *, kill_after: int | None = None) -> None:
        """One check at the present time; `kill_after` so many commands the process dies, before the next one is done."""
        for child in self.children.values():
            child.record = child.record.at_look_start()
        now = evidence.clock(self.monotonic, wall=self.wall)
        script: list[tuple[Command, Any]] = []
        steps = self._on_tape(look_at_runs(evidence.LAUNCHER, self.settings, self.memory, now), now)
        answer: Any = None
        while True:
            try:
                command = steps.send(answer)
            except StopIteration as end:
                self._decides_the_same(now, script)
                self.memory = end.value.memory
                return
            if kill_after is not None and len(script) >= kill_after:
                self.reload()
                return
            is_no_typing(command)
            answer = ANSWERS[type(command)](self, command)
            script.append((command, answer))

    def _on_tape(self, steps: Steps, now: Clock) -> Steps:
        if self.tapes is None:
            return steps
        self.tape = self.tape or self.tapes()
        return self.tape.record(steps, self.memory, now)

    def _decides_the_same(self, now: Any, script: Sequence[tuple[Command, Any]]) -> None:
        """I3: the same evidence, listed the other way round, and the same commands in the same order."""
        steps = look_at_runs(evidence.LAUNCHER, self.settings, self.memory, now)
        answer: Any = None
        for expected, given in script:
            command = steps.send(answer)
            if command != expected:
                raise BrokenInvariantError(
                    "I3", f"the same evidence, and now {command} instead of {expected}"
                )
            turned = isinstance(command, c.ListPanes | c.ListSessions) and isinstance(given, tuple)
            answer = given[::-1] if turned else given

    def continue_fairly(self) -> None:
        """I4: everything can be read, effects succeed, nothing else happens; then every run must have converged."""
        self.outages.clear()
        self.outcomes.clear()
        self.meanwhile = ""
        self.busy = self.compacting = False
        for child in self.children.values():
            child.torn = False
        self._take_queued()
        before = {run: child.record for run, child in self.children.items()}
        due = {run: self._due(child) for run, child in self.children.items()}
        self.restart_launcher()
        for _ in range(FAIR_LOOKS):
            self.pass_time(evidence.SETTINGS.interval)
            self.look()
        for run, child in self.children.items():
            has_converged(child.record, self.truth(child, *HOLDING if child.record.claimed else ()))
            what = due[run]
            if what and not _was_done(what, child.record):
                raise BrokenInvariantError(
                    "I4", f"{run} could be recovered and is left alone ({what} is missing): {before[run]}"
                )

    def _due(self, child: Child) -> str | None:
        """What a fair continuation must bring: `asked`, `told`, a key, or nothing that this model can insist on."""
        if (
            child.reported
            or child.ended
            or child.kind == "persistent"
            or child.record.ended
            or self.is_past(child)
        ):
            return None
        spots = self.on(child)
        if child.forked or self.outside(child) or any(spot.work for spot in spots):
            return None
        due = self._due_by_panes(child, spots)
        return (
            "warned" if due in {"asked", "told"} and not child.record.closed and self._again(child) else due
        )

    def _due_by_panes(self, child: Child, spots: Sequence[Spot]) -> str | None:
        record = child.record
        if record.closed:
            # Taken back because somebody had opened its session elsewhere: given up with a warning then.
            came_back = None if spots else "warned_back"
            return "told" if record.closing and not spots else came_back
        if not spots:
            return self._due_when_lost(child)
        if len(spots) != 1 or spots[0].status != "idle" or not spots[0].registered or record.claimed:
            return None
        spot = spots[0]
        if spot.occupant == "child" and not record.has("continued"):
            return "asked" if child.phase == "waiting" else None
        seen_before = child.noted is not None and child.noted != spot.terminal
        return "told" if spot.occupant == "restored" and spot.id == child.surface and seen_before else None

    def _due_when_lost(self, child: Child) -> str | None:
        """A stored session is no pi, and a run that was said to be lost is not said so again."""
        record = child.record
        begun = record.closing or record.has("unclosed") or record.has("warned") or record.has("continued")
        if child.noted is None or begun or self.settings.lost is Beyond.OFF or record.has("lost"):
            return None
        return "told" if self._may_be_resumed(child) else "lost"

    def _may_be_resumed(self, child: Child) -> bool:
        """A lost run: no other pi could hold it, which takes to know the one that ran it, and no pane of it is left."""
        noted = [entry for entry in child.record.keys if entry.key == "seen"][-1]
        held = any(one.outside == "silent" for one in self.children.values()) or self.is_left(child)
        known = "pid" in noted.data and not held
        asked_for = self.settings.lost is Beyond.RECOVER and not self._again(child)
        return child.kind == "ordinary" and asked_for and known

    def is_left(self, child: Child) -> bool:
        """Whether a pane is the terminal that it was seen in."""
        return any(spot.terminal == child.noted for spot in self.spots)

    def pass_time(self, seconds: float, *, asleep: float = 0.0) -> None:
        self.monotonic += seconds
        self.wall += seconds + asleep
        self._grow()

    def _take_queued(self) -> None:
        for runs in self.queue:
            for run in runs:
                record = self.children[run].record
                record = replace(record, queued=record.queued - 1)
                self.children[run].record = taken(record, self.stranding(self.children[run]))
        self.queue.clear()

    def settle(self, *, taken: bool) -> None:
        """The session gets to its queue, or somebody throws it away (Esc)."""
        if taken:
            self._take_queued()
        for runs in self.queue:
            for run in runs:
                record = self.children[run].record
                self.children[run].record = replace(record, queued=record.queued - 1)
        self.queue.clear()
        self.busy = False

    # -- reads -----------------------------------------------------------------------------------------------------

    def readable(self, what: str, answer: Any) -> Any:
        return evidence.UNREADABLE if what in self.outages else answer

    def transcript(self) -> Any:
        children = self.children.values()
        return Transcript(
            tuple(entry for child in children for entry in child.record.keys),
            frozenset(evidence.session_file(child.file) for child in children if child.reported),
            resumes=tuple(
                evidence.resume(child.id, child.file, child.began) for child in children if child.resumes
            ),
            results_at={
                evidence.session_file(child.file): child.reported_at
                for child in sorted(children, key=lambda child: child.reported_at)
                if child.reported
            },
            told=tuple(child.id for child in children for _ in range(child.record.told)),
            torn_keys=frozenset(child.id for child in children if child.torn),
        )

    def files(self, command: c.ReadRun) -> RunFiles:
        if "files" in self.outages:
            return RunFiles(*[evidence.UNREADABLE] * 4)
        child = self.children[command.run]
        return evidence.files(child.id, child.kind, child.surface, ended=child.ended, resumes=child.resumes)

    def activities(self) -> Mapping[str, Any]:
        return {
            run: self.readable("activity", evidence.activity(child.phase, child.written))
            for run, child in self.children.items()
        }

    def panes(self) -> tuple[Pane, ...]:
        return (evidence.LAUNCHER_PANE, *(self._pane(spot) for spot in self.spots))

    def _pane(self, spot: Spot) -> Pane:
        if spot.occupant not in ON_SESSION:
            return Pane(spot.id, spot.terminal, None, "idle", None)
        session = evidence.session_file(self.children[spot.run].file) if spot.registered else None
        return Pane(spot.id, spot.terminal, "pi", spot.status, session)

    def processes(self, command: c.ProcessInfo) -> Any:
        spot = next((spot for spot in self.spots if spot.id == command.pane), None)
        if spot is None:
            return evidence.UNREADABLE
        of = {
            "child": evidence.child_processes(spot.run),
            "restored": evidence.PLAIN,
            "person": evidence.PLAIN,
            "shell": evidence.SHELL,
        }
        return self.readable("processes", of[spot.occupant])

    def roster(self) -> Any:
        peers = [evidence.LAUNCHER_PEER]
        for spot in self.spots:
            if spot.occupant in ON_SESSION:
                status = "tool:bash" if spot.work == "says" or spot.status != "idle" else "idle"
                resumes = self.children[spot.run].resumes
                peers.append(evidence.child_peer(spot.run, spot.id, status, resumes=resumes))
        for child in self.children.values():
            if child.outside == "connected":
                peer = evidence.child_peer(child.id, "", resumes=child.resumes)
                peers.append(replace(peer, pid=OUTSIDE + peer.pid, pane=None))
        return tuple(peers)

    def child_on(self, session_file: str) -> Child:
        """The last run that is on that file."""
        on = [one for one in self.children.values() if evidence.session_file(one.file) == session_file]
        return max(on, key=lambda child: child.began)

    def holders(self, command: c.FindHolders) -> Any:
        """pi takes its arguments away; its launch script does not."""
        spots = [spot for spot in self.spots if spot.occupant in ON_SESSION]
        naming = tuple(
            evidence.child_processes(spot.run)[0]
            for spot in spots
            if spot.occupant == "child" and evidence.script_path(spot.run) == command.script
        )
        outside = [OUTSIDE + evidence.pid(child.id) for child in self.children.values() if child.outside]
        silent = (*(evidence.pid(spot.run) for spot in spots), *outside)
        return self.readable("holders", Holders(naming, silent=silent))

    def identify(self, command: c.Identify) -> Any:
        alive = next(
            (
                spot.run
                for spot in self.spots
                if spot.occupant == "child" and evidence.pid(spot.run) == command.pid
            ),
            None,
        )
        return self.readable("pi", alive and evidence.identity(alive))

    def tail(self, command: c.ReadTail) -> Any:
        child = self.child_on(command.session_file)
        return self.readable("tail", evidence.tail(child.file, child.stands, child.steps))

    def forks(self, command: c.FindForks) -> Any:
        forked = self.child_on(command.session_file).forked
        return self.readable("forks", ("/s/fork.jsonl",) if forked else ())

    # -- effects ---------------------------------------------------------------------------------------------------

    def outcome(self) -> str:
        return self.outcomes.pop(0) if self.outcomes else "done"

    def truth(self, child: Child, *needed: str) -> Truth:
        """`needed`: what the act must have read at this look."""
        doubts = [f"{what} cannot be read" for what in needed if what in self.outages]
        if child.torn and needed:
            doubts.append("a line that may hold a key of it is torn")
        if needed == HOLDING and self.is_left(child):
            doubts.append("its terminal is there")
        if needed == LEFT and any(spot.terminal in child.record.told_in for spot in self.spots):
            doubts.append("the terminal in which its launcher was told of it is there")
        spots = self.on(child)
        occupant = spots[0].occupant if len(spots) == 1 else "two pi" if spots else "nobody"
        work = {spot.work for spot in spots} - {""}
        at_work = "somebody is at work on it, whatever herdr says" if work else ""
        outside = self.outside(child)
        if "connected" in outside or (outside and needed == HOLDING):
            at_work = "somebody is on it outside herdr"
        return Truth(
            child.kind,
            tracked=child.id in self.registry,
            reported=child.reported,
            occupant=occupant,
            doubts=tuple(doubts),
            at_work=at_work,
            forked=child.forked,
            stranding=self.stranding(child),
            again=self._again(child),
        )

    def stranding(self, child: Child) -> str:
        """In a worktree, the terminal in which its pane is or was last."""
        spot = next((spot for spot in self.spots if spot.id == child.surface), None)
        child.lies_in = spot.terminal if spot is not None else child.lies_in
        return child.lies_in if child.kind == "worktree" else ""

    def _again(self, child: Child) -> str:
        """Why what was recovered before is not to be recovered again."""
        handed = len(child.record.told_in - {self.stranding(child)})
        times = handed if child.kind == "worktree" else child.generation
        if times >= MOST_TIMES:
            return "it was recovered often enough"
        asked_for = not times or self.settings.resumed is Beyond.RECOVER
        return "" if asked_for else "it was recovered before, and nobody asked for more"

    def write_key(self, command: c.WriteKey) -> Any:
        child = self.children[command.run]
        record = replace(child.record, asked_keys=child.record.asked_keys | {command.key})
        if command.key == "resumed":
            judge("resumed", record, self.truth(child))
        elif command.key == "lost":
            claims = "then" in command.data
            judge("claim" if claims else "lost", record, self.truth(child, *HOLDING if claims else LEFT))
        outcome = self.outcome()
        if outcome.startswith("done"):
            entry = KeyEntry(command.key, command.run, dict(command.data))
            record = replace(record, keys=(*record.keys, entry))
        child.record = record
        if command.key in {"nudged", "closing", "continued"}:
            self.happen(self.meanwhile, child)
            self.meanwhile = ""
        return {"done": True, "failed": False}.get(outcome, evidence.UNREADABLE)

    def close(self, command: c.ClosePane) -> Result:
        spot = next(spot for spot in self.spots if spot.id == command.pane)
        child = self.children[spot.run]
        judge("close", child.record, replace(self.truth(child, *WITNESSES), occupant=spot.occupant))
        outcome = self.outcome()
        if outcome.startswith("done"):
            self.spots.remove(spot)
            child.record = replace(child.record, closed=child.record.closed + 1)
        return _result(outcome)

    def send(self, command: c.SendIntercom) -> Result:
        child = next(
            one
            for one in self.children.values()
            if evidence.session_id(one.file) == command.session and not self.is_past(one)
        )
        act = "continue" if child.record.continuing else "ask"
        judge(act, child.record, self.truth(child, *WITNESSES))
        child.record = sent(child.record, act, self.stranding(child))
        return _result(self.outcome())

    def tell(self, command: c.TellLauncher) -> Result:
        for child in map(self.children.__getitem__, command.runs):
            of_a_claim = child.record.claimed and not child.record.closed
            judge("tell", child.record, self.truth(child, *HOLDING if of_a_claim else ()))
        outcome = self.outcome()
        if outcome.startswith("done"):
            for run in command.runs:
                record = self.children[run].record
                self.children[run].record = replace(record, queued=record.queued + 1)
            self.queue.append(command.runs)
            if not self.busy:
                self._take_queued()
        return _result(outcome)

    def notify(self, command: c.Notify) -> None:
        if command.level == "warning":
            for run in self._named(command.text):
                child = self.children[run]
                child.record = warned(child.record, self.truth(child), command.text)

    def _named(self, text: str) -> Iterator[str]:
        present = {
            child.id: evidence.session_file(child.file)
            for child in self.children.values()
            if not self.is_past(child)
        }
        return Warnings(present).of(text)

    def pause(self, command: c.Pause) -> float:
        self.pass_time(command.seconds)
        return self.monotonic


def _was_done(what: str, record: Record) -> bool:
    return record.has(what) if what in {"lost", "warned"} else bool(getattr(record, what))


def _result(outcome: str) -> Result:
    words = {"done": Outcome.DONE, "failed": Outcome.FAILED}
    return Result(words.get(outcome, Outcome.UNKNOWN), "" if outcome == "done" else outcome)


ANSWERS: Mapping[type, Any] = {
    c.ReadRegistry: lambda world, _: world.readable("registry", frozenset(world.registry)),
    c.ReadRuns: lambda world, _: world.readable("runs", world.activities()),
    c.ReadRun: World.files,
    c.ReadTranscript: lambda world, _: world.readable("transcript", world.transcript()),
    c.ListSessions: lambda world, _: world.readable("roster", world.roster()),
    c.ListPanes: lambda world, _: world.readable("panes", world.panes()),
    c.ProcessInfo: World.processes,
    c.FindForks: World.forks,
    c.FindHolders: World.holders,
    c.Identify: World.identify,
    c.ReadTail: World.tail,
    c.ReadSession: lambda world, _: SessionState(
        idle=not (world.busy or world.compacting), compacting=world.compacting
    ),
    c.WriteKey: World.write_key,
    c.ClosePane: World.close,
    c.SendIntercom: World.send,
    c.TellLauncher: World.tell,
    c.Notify: World.notify,
    c.Pause: World.pause,
}
