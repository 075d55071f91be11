"""Waits after a start of herdr until the launchers have settled, and says once what came of it.

Whoever waits holds a lock: one at a time for each herdr, and a start that finds it waiting only makes it wait anew.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from strawboss.config import Config
from strawboss.herdr.client import Herdr
from strawboss.overview.announcement import Situation, news, situation
from strawboss.overview.judge import WEEK_SECONDS, view
from strawboss.recovery.verdict import Unknown
from strawboss.survey.find import Survey
from strawboss.system.files import make_private_directory
from strawboss.system.json_files import write_json
from strawboss.system.lock import Lock

# All in looks of a launcher.
QUIET_LOOKS = 4  # without any change: within three of them a run is found twice and recovered
SETTLE_LOOKS = 20  # after a start; what is still under way then is not waited for
SEEN_LOOKS = 240  # after a start, for somebody to be there to read it

SHOWN = "shown"
NOT_NOW = frozenset({"no_foreground_client", "busy", "rate_limited"})
HINT = "`strawboss status` tells which and what to do"

Needs = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class World:
    """`show`: as `Herdr.notify`. `starts`: another value after each start of herdr. `interval`: seconds a look."""

    look: Callable[[], Situation]
    show: Callable[[str], str | Unknown]
    starts: Callable[[], float]
    interval: float
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


@dataclass
class Limit:
    """So many looks after the last start of herdr."""

    world: World
    looks: int
    start: float | None = field(default=None, init=False)
    end: float = field(default=0.0, init=False)

    def is_over(self) -> bool:
        start, now = self.world.starts(), self.world.clock()
        if start != self.start:
            self.start, self.end = start, now + self.looks * self.world.interval
        return now >= self.end


def announce(world: World, said: Needs) -> tuple[str, Needs]:
    """What was shown, empty when nothing was; and of what needs a person now, what has been said (`said`: before).

    Where nobody is there to read it yet, it is tried again. A user who wants no notifications gets none.
    """
    first = world.look()
    patience, hope = Limit(world, SETTLE_LOOKS), Limit(world, SEEN_LOOKS)
    while True:
        last = settled(world, patience)
        text = news(first, last, said)
        told = world.show(text) if text else None
        if told == SHOWN:
            return text, last.needs
        if told is None or not _may_be_shown_yet(told, patience, hope):
            return "", said & last.needs
        world.sleep(world.interval)


def _may_be_shown_yet(told: str | Unknown, patience: Limit, hope: Limit) -> bool:
    if isinstance(told, Unknown):
        return not patience.is_over()
    return told in NOT_NOW and not hope.is_over()


def settled(world: World, patience: Limit) -> Situation:
    """Once nothing has changed for some looks and nothing is under way, or `patience` is over."""
    last, since = world.look(), world.clock()
    while world.clock() < since + QUIET_LOOKS * world.interval and not patience.is_over():
        world.sleep(world.interval)
        now = world.look()
        if now != last or now.is_pending:
            last, since = now, world.clock()
    return last


def announce_once(file: Path, herdr: Herdr, config: Config, environment: Mapping[str, str]) -> str:
    """What was shown; empty when nothing was, or another process waits already. Raises OSError.

    `file`: of this herdr; beside it lies its lock. What has been said is kept there, so that no need is said twice.
    """
    make_private_directory(file.parent)
    guard = file.with_suffix(".lock")
    lock = Lock(guard)
    if not lock.take():
        os.utime(guard)
        return ""
    try:
        text, said = announce(_world(guard, herdr, config, environment), _said(file))
        write_json(file, sorted(said))
    finally:
        lock.release()
    return text


def _world(guard: Path, herdr: Herdr, config: Config, environment: Mapping[str, str]) -> World:
    return World(
        lambda: _look(config, environment),
        lambda text: herdr.notify(text, HINT),
        lambda: guard.stat().st_mtime,
        config.interval,
    )


def _look(config: Config, environment: Mapping[str, str]) -> Situation:
    survey = Survey(config, environment, WEEK_SECONDS, time.time())
    views = [view(seen, survey.now) for seen in survey.launchers()]
    panes = survey.terminals.panes()
    files = panes if isinstance(panes, Unknown) else {pane.session for pane in panes if pane.session}
    return situation(views, files)


def _said(file: Path) -> Needs:
    """What cannot be read has not been said."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=frozenset[tuple[str, str]])
    except (OSError, msgspec.DecodeError):
        return frozenset()
