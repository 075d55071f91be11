"""Fail at the Nth call: each call of each story fails in every way, once and from then on.

A story is told again and again, with N = 1, 2, … until it no longer has an Nth call. Told with a run that is stranded it
must come to its end; told with one that differs in a single thing nothing may be done, whatever cannot be seen.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from crash.faults import ALIKE, ERRNOS, EXHAUSTIVE, FAULTS, Injector
from crash.little_world import (
    AGAIN,
    CRASH,
    LOST,
    PANE,
    RESTART,
    RUNNING_LOOKS,
    WORKTREE,
    World,
    is_end,
    pane,
)
from runs.written import RUN, key, result

from strawboss.recovery.restored.numbers import LAST_MISS

pytestmark = pytest.mark.slow

HEALED_AFTER = 12  # a fault from then on outlasts whatever is given up after some looks
LOOKS = 18
RELOADED_LOOKS = 8
LOOKS_TO_BE_LOST = LAST_MISS + 4
LOOKS_TO_ACT = 2
MISLEADING = frozenset(
    {"another's", "torn"}
)  # what could be taken for an answer, and so hide why nothing may be done
OFFS = 3  # process starts that a fault of its own directory goes on for

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
Unlike = Callable[[World], None]


@dataclass(frozen=True, slots=True)
class Story:
    """`what`: the call that failed and how. `keys`: those in the session file at the end."""

    what: str
    world: World
    keys: tuple[str, ...]

    def __str__(self) -> str:
        world = self.world
        return f"{self.what}: keys {self.keys}, acts {world.acts}, warnings {world.warnings}, {world.looks} looks"


def nothing(_: World) -> None:
    """The run is stranded."""


def told(directory: Path, kind: str, injector: Injector, unlike: Unlike = nothing) -> World:
    """A stranded run's story to its end; another run's for as long as it would take to act."""
    world = World(directory, kind, injector, unlike, HEALED_AFTER)
    injector.armed = unlike is nothing
    with world.entered():
        live_until(world, RUNNING_LOOKS)
        world.strand()
        injector.armed = True
        if unlike is not nothing:
            live_until(world, RUNNING_LOOKS + LOOKS_TO_ACT)
            return world
        live_until(world, LOOKS)
        if not world.is_final:
            injector.heal()
            live_until(world, world.looks + (LOOKS_TO_BE_LOST if kind == LOST else RELOADED_LOOKS))
    return world


def live_until(world: World, look: int) -> None:
    offs = 0
    while world.looks < look and not world.is_over:
        world.live(look)
        offs += world.pi.is_off
        if offs == OFFS:
            world.injector.heal()


def variants(kind: str, calls: str, unlike: Unlike = nothing, *, thorough: bool = True) -> Iterator[Story]:
    """The story with every call of those failing, in every way; not `thorough`: each call in one way, in turn."""
    for number in count(1):
        for fault, lasting in ways(calls, number, thorough):
            injector = Injector(calls, fault, number, lasting)
            with tempfile.TemporaryDirectory(prefix="sb-", dir=MEMORY) as made:
                world = told(Path(made), kind, injector, unlike)
                keys = tuple(world.disk.keys())
            if not injector.has_struck:
                return
            yield Story(f"{fault} at {calls} {number}{' and from then on' if lasting else ''}", world, keys)


def ways(calls: str, number: int, thorough: bool) -> list[tuple[str, bool]]:
    """(fault, whether from then on). Where there is one in turn, the calls of the next look get other ones.

    The errors of the system are alike, so each call gets one of them.
    """
    both = [(fault, lasting) for fault in FAULTS[calls] for lasting in (False, True)]
    if EXHAUSTIVE:
        return both
    if thorough and calls not in ALIKE:
        others = set(ERRNOS) - {ERRNOS[number % len(ERRNOS)]}
        return [way for way in both if way[0].removeprefix("done, ") not in others]
    misleading = [] if thorough else [way for way in both if way[0] in MISLEADING]
    return [*misleading, both[number % len(both)]]


# -- judging -------------------------------------------------------------------------------------------------------


def wrongs(story: Story) -> list[str]:
    """What may never be, stranded or not, whatever fails."""
    world, keys = story.world, Counter(story.keys)
    found = [*world.wrong, *world.broken_looks]
    found += [f"two {key} keys" for key in ("continued", "resumed", "gaveUp", "lost") if keys[key] > 1]
    if keys["nudged"] - keys["unnudged"] not in (0, 1):
        found.append("a second nudged key without an unnudged one")
    if keys["closing"] - keys["unclosed"] not in (0, 1):
        found.append("a second closing key without an unclosed one")
    if len(world.give_ups) > 1:
        found.append("more than one warning")
    return found


def unended(story: Story) -> list[str]:
    """A stranded run ends recovered or given up with one warning, every fault being over in the end.

    A key that was taken back is no end: what could not be read then can be, and the child is asked.
    """
    world, keys, acts = story.world, set(story.keys), set(story.world.acts)
    if world.kind != CRASH and not world.was_noted:  # of a lost run: with its pi
        return ["acted on a run that was never seen running"] if acts else []
    if not is_end(story.keys):
        return ["it came to no end"]
    if "close" in acts and "gaveUp" in keys and world.injector.kind.startswith("herdr"):
        return ["given up although its pane was closed and nothing else had failed"]
    if "gaveUp" in keys:
        return [] if world.give_ups else ["given up without a warning"]
    if world.kind == CRASH:
        is_silent = "ask" not in acts and not (world.give_ups or world.deaths or said_late(world))
        return ["its nudged key is written, nothing was sent and nobody told"] if is_silent else []
    missing = MISSING[world.kind] - acts
    return [f"said to be resumed without {sorted(missing)}"] if missing else []


MISSING = {
    RESTART: {"close", "tell", "resume"},
    LOST: {"tell", "resume"},
    WORKTREE: {"tell"},
    AGAIN: {"tell"},
}


def said_late(world: World) -> bool:
    """The key could not be seen in the file, and the user knows that it may turn up and where the result is then."""
    if world.injector.fault.startswith("done, "):
        return False  # it was there to be seen, whatever became of the answer
    words = ("could not confirm its nudged key", "could not take back its nudged key")
    told = [one for one in world.warnings if any(word in one for word in words)]
    return any(world.disk.child.name in one for one in told)


def must_be_right(
    kind: str, calls: str, unlike: Unlike = nothing, *, thorough: bool = True, harmless: Iterable[str] = ()
) -> int:
    """How many stories there were, all of them right."""
    stories = 0
    for story in variants(kind, calls, unlike, thorough=thorough):
        stories += 1
        found = wrongs(story)
        if unlike is nothing:
            found += unended(story)
        elif forbidden := [act for act in story.world.acts if act not in harmless]:
            found.append(f"did {forbidden} although it is {unlike.__name__.replace('_', ' ')}")
        assert not found, f"{found}\n{story}"
    sys.stdout.write(f"{stories} stories: {kind}, {unlike.__name__.replace('_', ' ')}, {calls}\n")
    return stories


# -- the stranded run ----------------------------------------------------------------------------------------------

STORIES = (CRASH, RESTART, WORKTREE)
# Only one story closes a pane, and another one asks the machine.
CALLS = [calls for calls in FAULTS if calls not in {"herdr act", "machine list"}]


# What is asked again and again is asked in the other stories too.
UNLIKE_EACH_OTHER = [calls for calls in FAULTS if calls not in ALIKE | {"herdr act"}]


@pytest.mark.parametrize("calls", CALLS)
@pytest.mark.parametrize("kind", STORIES)
def test_whichever_call_fails_a_stranded_run_comes_to_its_end_and_nothing_happens_twice(
    kind: str, calls: str
) -> None:
    assert must_be_right(kind, calls) > 0


def test_whichever_way_a_close_fails_it_happens_once_at_most() -> None:
    assert must_be_right(RESTART, "herdr act") == len(ways("herdr act", 1, thorough=True))


@pytest.mark.parametrize("kind", [AGAIN, LOST])
def test_whichever_call_fails_what_is_stranded_again_or_lost_comes_home_once(kind: str) -> None:
    for calls in UNLIKE_EACH_OTHER:
        assert must_be_right(kind, calls, thorough=False) > 0


# -- a run that differs in one thing -------------------------------------------------------------------------------


def reported(world: World) -> None:
    world.disk.append(result(str(world.disk.child.resolve())))


def pinged(world: World) -> None:
    world.disk.append(result(str(world.disk.child.resolve()), kind="subagent_ping"))


def tracked(world: World) -> None:
    world.tracked.add(RUN)


def asked_before(world: World) -> None:
    world.disk.append(key(nudged=RUN))


def given_up_before(world: World) -> None:
    world.disk.append(key(gaveUp=RUN, why="x"))


def persistent(world: World) -> None:
    world.disk.write_script(PI_SUBAGENT_PERSISTENT="1")


def persistent_by_its_policy(world: World) -> None:
    policy = {"version": 2, "owner": "public", "persistent": True}
    Path(f"{world.disk.child}.pi-herdr-subagent-policy.json").write_text(json.dumps(policy))


def on_a_session_of_a_second_pi(world: World) -> None:
    world.herdr.panes["w1:p9"] = pane("w1:p9", world.disk.launcher, "term_9")


def working_by_herdrs_word(world: World) -> None:
    world.herdr.panes[PANE]["agent_status"] = "working"


def working_by_its_own_word(world: World) -> None:
    world.disk.says("active")


def busy_by_intercoms_word(world: World) -> None:
    world.broker.rules.session_of("child").info["status"] = "thinking"


def started_by_hand(world: World) -> None:
    """A plain pi in the terminal in which it ran."""
    world.herdr.panes[PANE]["terminal_id"] = "term_2"
    world.herdr.foreground[PANE] = world.herdr.foreground[PANE][-1:]


def ended(world: World) -> None:
    Path(f"{world.disk.child}.exit").touch()


def beside_an_editor(world: World) -> None:
    world.herdr.foreground[PANE].append({"pid": 7, "name": "vim"})


def running_a_resume_script(world: World) -> None:
    again = str(world.disk.script.with_name("beta-resume-1.sh"))
    world.herdr.foreground[PANE].insert(0, {"pid": 7, "name": "bash", "argv": ["bash", again]})


def on_another_session(world: World) -> None:
    world.herdr.panes[PANE]["agent_session"]["value"] = str(world.disk.directory / "other.jsonl")


def removed(world: World) -> None:
    world.disk.write_manifest("removed")


UNLIKE = {
    CRASH: (
        *(
            reported,
            pinged,
            tracked,
            asked_before,
            persistent,
            persistent_by_its_policy,
            on_a_session_of_a_second_pi,
        ),
        *(working_by_herdrs_word, working_by_its_own_word, busy_by_intercoms_word, started_by_hand),
    ),
    RESTART: (
        *(
            reported,
            tracked,
            given_up_before,
            persistent,
            persistent_by_its_policy,
            on_a_session_of_a_second_pi,
        ),
        *(
            working_by_herdrs_word,
            started_by_hand,
            ended,
            beside_an_editor,
            running_a_resume_script,
            on_another_session,
        ),
    ),
    WORKTREE: (reported, tracked, removed, started_by_hand, working_by_herdrs_word),
}


# What a session start may get wrong for all its looks.
KNOWN_FROM_THE_START = frozenset({reported, on_a_session_of_a_second_pi, started_by_hand})


@pytest.mark.parametrize(("kind", "unlike"), [(kind, one) for kind, ones in UNLIKE.items() for one in ones])
def test_whichever_call_fails_nothing_is_done_for_a_run_that_is(kind: str, unlike: Unlike) -> None:
    for calls in FAULTS:
        if calls != "state look" or unlike in KNOWN_FROM_THE_START:
            must_be_right(kind, calls, unlike, thorough=False)


def test_a_worktree_child_that_somebody_went_on_with_is_not_told_to_go_on_whichever_call_fails() -> None:
    for calls in FAULTS:
        must_be_right(WORKTREE, calls, went_on, thorough=False, harmless=("tell",))


def went_on(world: World) -> None:
    world.disk.ends_its_turn()
