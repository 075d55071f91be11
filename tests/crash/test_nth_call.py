"""Fail at the Nth call (DESIGN section 7): each call of each story fails in every way, once and from then on.

A story is told again and again, with N = 1, 2, … until it no longer has an Nth call. Told with a run that is stranded it
must come to its end; told with one that differs in a single thing nothing may be done, whatever cannot be seen.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from crash.faults import FAULTS, Injector
from crash.little_world import CRASH, RESTART, RUNNING_LOOKS, WORKTREE, World

HEALED_AFTER = 12  # a fault from then on outlasts whatever is given up after some looks
LOOKS = 18
RELOADED_LOOKS = 8
OFFS = 3  # process starts that a fault of its own directory goes on for

Unlike = Callable[[World], None]


def nothing(_: World) -> None:
    """The run is stranded."""


def told(directory: Path, kind: str, injector: Injector, unlike: Unlike = nothing) -> World:
    world = World(directory, kind, injector, unlike, HEALED_AFTER)
    with world.entered():
        live_until(world, RUNNING_LOOKS)
        world.strand()
        live_until(world, LOOKS)
        if not world.is_final:
            injector.heal()
            live_until(world, world.looks + RELOADED_LOOKS)
    return world


def live_until(world: World, look: int) -> None:
    offs = 0
    while world.looks < look and not world.is_over:
        world.live(look)
        offs += world.pi.is_idle_for_good
        if offs == OFFS:
            world.injector.heal()


def variants(kind: str, faults: str, unlike: Unlike = nothing) -> Iterator[tuple[str, World]]:
    """Every way in which a call of those fails in that story, with what came of it."""
    for number in count(1):
        for fault in FAULTS[faults]:
            for lasting in (False, True):
                injector = Injector(faults, fault, number, lasting)
                with tempfile.TemporaryDirectory(prefix="sb-", dir=SHORT) as made:
                    world = told(Path(made), kind, injector, unlike)
                    world.history = history(world)
                    world.found = faults_of_any(world) + faults_of_an_end(world)
                if not injector.has_struck:
                    return
                yield f"{fault} at call {number}{' and from then on' if lasting else ''}", world


SHORT = "/dev/shm" if Path("/dev/shm").is_dir() else None


def history(world: World) -> dict[str, object]:
    return {
        "keys": world.disk.keys(), "acts": world.acts, "warnings": world.warnings, "wrong": world.wrong,
        "broken": world.broken_looks, "looks": world.looks, "lives": world.lives, "noted": world.was_noted,
        "offs": world.offs, "final": world.is_final,
    }  # fmt: skip


# -- judging -------------------------------------------------------------------------------------------------------


def faults_of_any(world: World) -> list[str]:
    """What may never be, stranded or not, whatever fails."""
    keys = Counter(world.disk.keys())
    found = [*world.wrong, *world.broken_looks]
    found += [
        f"two {key} keys" for key in ("nudged", "continued", "resumed", "gaveUp", "lost") if keys[key] > 1
    ]
    if keys["closing"] - keys["unclosed"] not in (0, 1):
        found.append("a second closing key without an unclosed one")
    if len(world.give_ups) > 1:
        found.append(f"more than one warning: {world.give_ups}")
    return found


def faults_of_an_end(world: World) -> list[str]:
    """A stranded run ends recovered, given up with one warning, or provably Unknown."""
    keys, acts = set(world.disk.keys()), set(world.acts)
    if world.kind != CRASH and not world.was_noted:
        return ["acted on a run that was never seen running"] if acts else []
    if not world.is_final:
        return [f"no end after {world.looks} looks"]
    if "gaveUp" in keys:
        return [] if world.give_ups else ["given up without a warning"]
    if world.kind == CRASH:
        silent = "ask" not in acts and not world.give_ups and world.lives <= 2
        return ["its nudged key is written, nothing was sent and nobody told"] if silent else []
    missing = {RESTART: {"close", "tell", "resume"}, WORKTREE: {"tell"}}[world.kind] - acts
    return [f"said to be resumed without {sorted(missing)}"] if missing else []
