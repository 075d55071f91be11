"""Exhaustive search of the core: every small history, every kill point, every outcome of every effect.

A history is a row of looks (`play.py`). States that the core cannot tell apart are merged. `python -m crash.search`
prints the figures, and the shortest history that breaks an invariant if there is one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from crash import evidence
from crash.alphabet import (
    AGAIN,
    AGAIN_IN_ITS_WORKTREE,
    BOTH_ACT,
    CUT,
    LOST,
    LOST_AGAIN,
    LOST_AGAIN_IN_ITS_WORKTREE,
    MERGED,
    MERGED_IN_ITS_WORKTREE,
    TIRED,
    UNMERGED,
    UNMERGED_IN_ITS_WORKTREE,
)
from crash.judge import BrokenInvariantError, Record, Truth, has_converged
from crash.play import Play
from crash.states import Choices, CoveredError, Run, State

from strawboss.recovery.again import MOST_TIMES
from strawboss.recovery.commands import Command
from strawboss.recovery.evidence import KeyEntry
from strawboss.recovery.look import MACHINES
from strawboss.recovery.memory import Memory, RunMemory
from strawboss.recovery.nudge.machine import NAME as NUDGE_NAME
from strawboss.recovery.proof import Proof, Stage
from strawboss.recovery.restored.machine import NAME as RESTORED_NAME
from strawboss.recovery.restored.numbers import LAST_MISS, REACH_LOOKS
from strawboss.recovery.settings import Beyond, Settings

LOOKS = 3
CONVERGING_LOOKS = 4  # one to take back a close, two to prove, one more
LOST_LOOKS = LAST_MISS + 4  # the restored case gives up, two to prove, one to hand over, one more
UNREACHABLE_LOOKS = REACH_LOOKS + 3  # while a worktree child is out of reach, before its launcher hears of it

# -- the search --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scene:
    """One look on the way to a state: what was said in it, and after how many commands it was killed (0: it was not)."""

    before: object
    script: tuple[tuple[Command, Any], ...]
    killed: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    violation: BrokenInvariantError
    scenes: tuple[Scene, ...]

    @property
    def length(self) -> tuple[int, int]:
        return len(self.scenes), sum(len(scene.script) for scene in self.scenes)


@dataclass(slots=True)
class Search:
    """Breadth first, so that the first level with a violation has the shortest histories.

    `in_full`: every path is followed to its end, and the continuations are left to the search that merges. `patience`:
    looks of a fair continuation.
    """

    roots: tuple[State, ...]
    looks: int = LOOKS
    alphabet: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    settings: Settings = evidence.SETTINGS
    in_full: bool = False
    patience: int = CONVERGING_LOOKS
    states: dict[object, Scene | None] = field(default_factory=dict)
    converged: set[object] = field(default_factory=set)
    transitions: int = 0
    covered: int = 0
    continuations: int = 0
    reached: set[str] = field(default_factory=set)
    found: list[Found] = field(default_factory=list)

    def run(self, *, first: bool = False) -> Found | None:
        """The shortest history that breaks an invariant, or None when there is none. `first`: any one will do."""
        level = [(state.key(self.looks), state) for state in self.roots]
        self.states = {key: None for key, _ in level}
        for left in range(self.looks, -1, -1):
            for key, state in level if not self.in_full else ():
                self._converge(key, state)
            if self.found or not left:
                break
            level = [
                after
                for key, state in level
                if not (first and self.found)
                for after in self._after(key, state, left - 1)
            ]
        return min(self.found, key=lambda found: found.length, default=None)

    def _after(self, key: object, state: State, left: int) -> Iterator[tuple[object, State]]:
        """Every new state that one look can lead to."""
        choices: Choices | None = Choices([])
        acting: dict[object, dict[str, str]] | None = None if self.in_full else {}
        while choices is not None:
            play = Play(state, choices, {}, alphabet=self.alphabet, settings=self.settings, acting=acting)
            ends: list[tuple[State, int]] = []
            try:
                ends.append((play.play(), 0))
            except BrokenInvariantError as violation:
                self._record(violation, key, [play])
            except CoveredError:
                self.covered += 1
            for after, killed in ends + play.kills:
                self.transitions += 1
                self.reached |= {
                    proof.state for memory in after.memory.runs.values() for proof in memory.proofs.values()
                }
                new = after.key(left)
                if new not in self.states:
                    self.states[new] = Scene(key, play.told(killed), killed)
                    yield new, after
            choices = choices.next()

    def _record(self, violation: BrokenInvariantError, key: object, plays: list[Play]) -> None:
        """A violation in the last of those looks, which follow the state of that key."""
        scenes = [Scene(None, play.told(), 0) for play in plays]
        scenes[-1] = replace(scenes[-1], killed=len(scenes[-1].script))
        self.found.append(Found(violation, (*self._way_to(key), *scenes)))

    def _way_to(self, key: object) -> tuple[Scene, ...]:
        scenes: list[Scene] = []
        while (scene := self.states[key]) is not None:
            scenes.append(scene)
            key = scene.before
        return tuple(scenes[::-1])

    # -- I4 ----------------------------------------------------------------------------------------------------

    def _converge(self, key: object, state: State) -> None:
        """From here, with a new start and stable evidence and effects that succeed: done, given up or untouched."""
        for launcher in (False, True):
            fresh = state.killed(launcher=launcher)
            if fresh.key(0) in self.converged:
                continue
            self.converged.add(fresh.key(0))
            choices: Choices | None = Choices([])
            while choices is not None:
                self._continue(key, fresh, choices)
                choices = choices.next()

    def _continue(self, key: object, fresh: State, choices: Choices) -> None:
        chosen: dict[str, str] = {}
        now, plays = fresh, list[Play]()
        try:
            while not plays or len(plays) < max(self.patience, _looks_needed(chosen, fresh)):
                plays.append(Play(now, choices, chosen, False, self.alphabet, self.settings))
                now = plays[-1].play()
                self.continuations += 1
            for run in now.runs:
                if not run.past:
                    _must_have_converged(run, fresh, plays[-1])
                    if self.patience >= LOST_LOOKS:
                        before = next(one for one in fresh.runs if one.id == run.id)
                        _must_be_called_lost(run, before, plays[-1])
        except BrokenInvariantError as violation:
            self._record(violation, key, plays)


def _looks_needed(chosen: Mapping[str, str], fresh: State) -> int:
    unreachable = any(
        run.kind == "worktree" and chosen.get(f"roster {run.id}") != "idle" for run in fresh.runs
    )
    return UNREACHABLE_LOOKS if unreachable else CONVERGING_LOOKS


def _must_have_converged(run: Run, fresh: State, play: Play) -> None:
    has_converged(run.record, play.truth(run, "tell of a claim" if run.record.claimed else ""))
    before = next(one for one in fresh.runs if one.id == run.id)
    first = _as_if_for_the_first_time(before, run.lies_in)
    for due in (_due(first, play.chosen), _due_before_telling(first, play.chosen)):
        again = first is not before
        if again and due == "asked":
            continue  # no launch script runs in a pane that was restored
        if due is not None and not _was_done(due, run, before, play, again=again):
            raise BrokenInvariantError(
                "I4", f"it is stranded, could be recovered, and is left alone ({due} is missing)"
            )


def _was_done(due: str, run: Run, before: Run, play: Play, *, again: bool) -> bool:
    """What is not to be recovered once more is told to a person."""
    if getattr(run.record, due) > (getattr(before.record, due) if again else 0):
        return True
    return bool(play.truth(run).again) and run.record.has("warned")


def _as_if_for_the_first_time(run: Run, terminal: str) -> Run:
    """A worktree run that was handed over, and is stranded once more in another terminal."""
    record = run.record
    in_hand = record.queued or record.told > len(record.handed_in)
    is_said = terminal in record.told_in | record.handed_in or in_hand
    if run.kind != "worktree" or not record.handed_in or is_said:
        return run
    noted = tuple(entry for entry in record.keys if entry.key == "seen")
    return replace(run, record=Record(keys=noted + _since_it_was_handed_over(run).keys))


def _due_before_telling(run: Run, chosen: Mapping[str, str]) -> str | None:
    """A worktree child with a call that has no result is told to go on, whatever the word its reply ended with."""
    was_cut = chosen.get(f"tail {run.id}") in CUT and chosen.get(f"roster {run.id}") == "idle"
    begun = run.kind != "worktree" or run.record.has("continued") or run.record.told
    return "continued" if was_cut and not begun and _due(run, chosen) == "told" else None


def _due(run: Run, chosen: Mapping[str, str]) -> str | None:
    """What must have been done after the fair continuation: `asked`, `told`, None. What was not asked for stands as good."""
    if run.record.ended or run.reported or run.kind == "persistent":
        return None
    if chosen.get(f"result {run.id}") == "there" or chosen.get(f"registry {run.id}") == "tracked":
        return None
    if chosen.get(f"fork {run.id}") == "there" or chosen.get(f"roster {run.id}") == "elsewhere":
        return None
    if run.record.claimed and not run.record.closed:
        return (
            None  # `has_converged` sees to it; a pane that comes back then is left alone (docs/assurance.md)
        )
    pane = chosen.get(f"pane {run.id}", "")
    if pane.startswith("script") and not run.record.has("continued"):
        idle = (
            chosen.get(f"activity {run.id}") == "waiting" and chosen.get(f"roster {run.id}", "idle") == "idle"
        )
        return "asked" if idle else None
    noted = any(entry.key == "seen" and entry.data.get("terminal") == run.ran_in for entry in run.record.keys)
    if noted and pane in {"plain new", "plain newer"}:
        works = chosen.get(f"roster {run.id}", "idle") == "busy"
        return None if works else "told"
    return "told" if run.record.closed or run.record.has("continued") else None


def _must_be_called_lost(run: Run, before: Run, play: Play) -> None:
    """Where nobody holds it and no pane is left, its launcher resumes it, or a person is told, as the settings say."""
    record, lost = _since_it_was_handed_over(before), play.settings.lost
    if record.ended or record.closed or record.closing or record.has("lost") or before.ran_in is None:
        return
    if lost is Beyond.OFF or record.has("unclosed") or record.has("warned") or record.has("continued"):
        return
    recovers = lost is Beyond.RECOVER and run.kind == "ordinary" and not play.truth(run).again
    if recovers and _is_agreed(play.truth(run, "claim")):
        if not run.record.told:
            raise BrokenInvariantError("I4", "it is lost and to be resumed, and its launcher is not told")
    elif _is_agreed(play.truth(run, "lost")) and not _was_said_or_handed_over(run.record, before.record):
        raise BrokenInvariantError("I4", "it is lost, and is left alone")


def _was_said_or_handed_over(record: Record, before: Record) -> bool:
    """What was on its way came first."""
    return (
        record.last_of("lost", "resumed") == "lost"
        or len(record.keys) > len(before.keys)
        or record.queued > 0
    )


def _since_it_was_handed_over(run: Run) -> Record:
    """A worktree run may be lost after that, once its launcher has taken it in."""
    in_hand = run.record.queued or run.record.told > len(run.record.handed_in)
    if run.kind != "worktree" or not run.record.handed_in or in_hand:
        return run.record
    last = max(place for place, entry in enumerate(run.record.keys) if entry.key == "resumed")
    return Record(keys=run.record.keys[last + 1 :])


def _is_agreed(truth: Truth) -> bool:
    """What was not asked for stands as good."""
    doubts = [doubt for doubt in truth.doubts if not doubt.endswith(" is not known")]
    held = truth.tracked or truth.reported or truth.forked or truth.at_work
    return not (doubts or held) and truth.occupant in {"nobody", "shell"}


GIVEN_UP = {
    name: Proof(Stage.GIVEN_UP) for name in (NUDGE_NAME, RESTORED_NAME)
}  # from there lost runs are looked for
OF_ANY_KIND = (MERGED, UNMERGED)
OF_A_KIND = {"worktree": (MERGED_IN_ITS_WORKTREE, UNMERGED_IN_ITS_WORKTREE)}


def one_run(kind: str) -> Search:
    """A run of that kind, never seen and seen running, over the alphabet of three looks."""
    run = Run("2a2b3c4d", kind)
    return Search(
        (State((run,), Memory()), State((seen(run),), Memory())), alphabet=OF_A_KIND.get(kind, OF_ANY_KIND)[0]
    )


def one_run_in_full(kind: str) -> Search:
    """Over two looks: the check on what `MERGED` leaves out."""
    _, alphabet = OF_A_KIND.get(kind, OF_ANY_KIND)
    return Search(one_run(kind).roots, looks=2, in_full=True, alphabet=alphabet)


def one_tired_run(kind: str) -> Search:
    """From where one more miss gives up: two looks, also after a close that was taken back."""
    run = Run("2a2b3c4d", kind)
    proofs = {machine.name: Proof(misses=machine.last_miss - 1) for machine in MACHINES}
    tired = Memory({run.id: RunMemory(proofs=proofs)})
    return Search(
        tuple(State((one,), tired) for one in (seen(run), taken_back(run))), looks=2, alphabet=TIRED
    )


def two_runs(kind: str) -> Search:
    """An ordinary run and one of that kind share a look and a message; of the evidence only what makes both act."""
    pair = (seen(Run("2a2b3c4d", "ordinary")), seen(Run("3a2b3c4d", kind)))
    return Search((State(pair, Memory()),), alphabet=BOTH_ACT)


def one_lost_run(kind: str, lost: Beyond) -> Search:
    """From where the restored case has given up, its pi noted or not: two looks to prove it, one more. And from where a
    process died that was to have it resumed.
    """
    runs = [seen(Run("2a2b3c4d", kind), notes_pi=notes_pi) for notes_pi in (True, False)]
    roots = [State((run,), Memory({run.id: RunMemory(proofs=GIVEN_UP)})) for run in runs]
    if lost is Beyond.RECOVER and kind == "ordinary":
        roots.append(State((claimed(runs[0]),), Memory()))
    settings = replace(evidence.SETTINGS, lost=lost)
    return Search(tuple(roots), alphabet=LOST, settings=settings, patience=LOST_LOOKS)


def one_lost_worktree_run_again(resumed: Beyond) -> Search:
    """It was handed over, once, or after it was lost before, or as often as is done at all; the pane in which that was is
    still there, gone, or in another terminal.
    """
    run = Run("2a2b3c4d", "worktree")
    memory = Memory({run.id: RunMemory(proofs=GIVEN_UP)})
    often = tuple(range(9, 9 - MOST_TIMES + 1, -1))
    once = handed(run, 2)
    noted, *later = once.record.keys
    lost_before = replace(once.record, keys=(noted, KeyEntry("lost", run.id), *later))
    runs = (once, replace(once, record=lost_before), handed(run, *often, 2))
    roots = tuple(State((one,), memory) for one in runs)
    settings = replace(evidence.SETTINGS, resumed=resumed)
    return Search(roots, alphabet=LOST_AGAIN_IN_ITS_WORKTREE, settings=settings, patience=LOST_LOOKS)


def one_lost_resumed_run(resumed: Beyond, lost: Beyond) -> Search:
    """The same of a resumed run: its first generation, the last that is recovered, the next."""
    before = replace(handed(Run("2a2b3c4d", "ordinary"), 2), past=True)
    roots = [
        State((before, one), Memory({one.id: RunMemory(proofs=GIVEN_UP)}))
        for times in (1, MOST_TIMES - 1, MOST_TIMES)
        for one in (seen(Run("3a2b3c4d", "ordinary", resumes=before.id, generation=times)),)
    ]
    settings = replace(evidence.SETTINGS, resumed=resumed, lost=lost)
    return Search(tuple(roots), alphabet=LOST_AGAIN, settings=settings, patience=LOST_LOOKS)


def one_worktree_run_again(resumed: Beyond) -> Search:
    """It was handed over in one terminal, or as often as is done at all, and a further restart gives it another one."""
    run = Run("2a2b3c4d", "worktree")
    often = tuple(range(9, 9 - MOST_TIMES + 1, -1))
    roots = tuple(State((handed(run, *before, 2),), Memory()) for before in ((), often))
    settings = replace(evidence.SETTINGS, resumed=resumed)
    return Search(roots, alphabet=AGAIN_IN_ITS_WORKTREE, settings=settings)


def one_resumed_run(resumed: Beyond) -> Search:
    """Beside the run whose session it goes on with: its first generation, the last that is recovered, the next."""
    before = replace(handed(Run("2a2b3c4d", "ordinary"), 2), past=True)
    roots = tuple(
        State((before, seen(Run("3a2b3c4d", "ordinary", resumes=before.id, generation=times))), Memory())
        for times in (1, MOST_TIMES - 1, MOST_TIMES)
    )
    return Search(roots, alphabet=AGAIN, settings=replace(evidence.SETTINGS, resumed=resumed))


SEARCHES: Mapping[str, Callable[[], Search]] = {
    **{f"one {kind} run, three looks": partial(one_run, kind) for kind in evidence.KINDS},
    **{f"one {kind} run, two looks in full": partial(one_run_in_full, kind) for kind in evidence.KINDS},
    **{f"one {kind} run, about to be given up": partial(one_tired_run, kind) for kind in evidence.KINDS[:2]},
    **{f"an ordinary and one {kind} run": partial(two_runs, kind) for kind in ("ordinary", "worktree")},
    **{
        f"one lost {kind} run, lost: {lost}": partial(one_lost_run, kind, lost)
        for kind in evidence.KINDS[:2]
        for lost in (Beyond.WARN, Beyond.RECOVER)
    },
    **{
        f"a lost resumed run, resumed: {resumed}, lost: {lost}": partial(one_lost_resumed_run, resumed, lost)
        for resumed in (Beyond.WARN, Beyond.RECOVER)
        for lost in (Beyond.WARN, Beyond.RECOVER)
    },
    **{
        f"{what}, resumed: {resumed}": partial(make, resumed)
        for what, make in (
            ("a worktree run again", one_worktree_run_again),
            ("a worktree run lost again", one_lost_worktree_run_again),
            ("a resumed run", one_resumed_run),
        )
        for resumed in (Beyond.WARN, Beyond.RECOVER)
    },
}


def seen(run: Run, *, notes_pi: bool = True) -> Run:
    """The run after a look that noted it as running."""
    entry = evidence.seen(run.id, run.terminal(1), run.surface, notes_pi=notes_pi)
    return replace(run, ran_in=run.terminal(1), record=Record(keys=(entry,)))


def handed(run: Run, *numbers: int) -> Run:
    """The run after it was handed over in those terminals."""
    one, terminals = seen(run), [run.terminal(number) for number in numbers]
    keys = tuple(KeyEntry("resumed", run.id, {"terminal": terminal}) for terminal in terminals)
    closed = int(run.kind == "ordinary")
    record = Record(one.record.keys + keys, closed=closed, told=len(keys), told_in=frozenset(terminals))
    return replace(one, lies_in=terminals[-1], record=record)


def claimed(run: Run) -> Run:
    """The run after it was noted as lost, and to be resumed."""
    entry = KeyEntry("lost", run.id, {"then": "resume"})
    return replace(run, record=Record(keys=(*run.record.keys, entry)))


def taken_back(run: Run) -> Run:
    """The run after a close that was begun and taken back."""
    one = seen(run)
    keys = (
        KeyEntry("closing", run.id, {"terminal": run.terminal(2), "pane": run.surface}),
        KeyEntry("unclosed", run.id, {}),
    )
    return replace(one, record=Record(keys=one.record.keys + keys))


def as_playbook(found: Found) -> str:
    """The history as playbooks, one a look, to be pasted into a test."""
    lines = [f"# {found.violation}", "look = Look((), Memory())"]
    for scene in found.scenes:
        look = "check(LAUNCHER, SETTINGS, rebased(look.memory), NOW)"
        lines.append(f"look = (Playbook({f'killed_after({scene.killed}, {look})' if scene.killed else look})")
        lines += [f"    .asks({command!r}, {answer!r})" for command, answer in scene.script]
        lines.append("    .ends())")
    return "\n".join(lines)


def figures(name: str, search: Search, seconds: float) -> str:
    return (
        f"{name}: {len(search.states)} states, {search.transitions} transitions, "
        f"{search.continuations} looks of fair continuations, {seconds:.0f} s"
    )


def main() -> int:
    for name, make in SEARCHES.items():
        search, started = make(), time.process_time()
        found = search.run()
        sys.stdout.write(figures(name, search, time.process_time() - started) + "\n")
        sys.stdout.flush()
        if found is not None:
            sys.stdout.write(as_playbook(found) + "\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
