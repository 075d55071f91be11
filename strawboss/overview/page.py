"""What `strawboss status` shows: what needs a person, what was recovered, what is under way, the quiet ones counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePath
from time import localtime, strftime

from strawboss.overview.judge import Need, Recovery, View, duration, needs_of
from strawboss.overview.layout import Colour, Line, cut
from strawboss.overview.seen import Watch
from strawboss.recovery.evidence import Launcher
from strawboss.recovery.memory import RunReport

NAME_LENGTH = 40
SHOWN = 20  # of one section; the rest is counted
WHY_LENGTH = 200
NEEDS, RECOVERED = "needs you", "recovered in the last 24 hours"
SHELL_GOES_ON = " \\"


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that belong together. `about`: what they tell of, and a key would act on; None for a heading or a count."""

    lines: tuple[Line, ...]
    about: Need | Recovery | Running | None = None


@dataclass(frozen=True, slots=True)
class Running:
    launcher: Launcher
    report: RunReport

    @property
    def run(self) -> str:
        return self.report.run


def page(views: Sequence[View], now: float) -> list[Block]:
    """`now`: epoch seconds."""
    running = [Running(view.seen.launcher, run) for view in views for run in view.under_way]
    return [
        Block((_summary(views),)),
        *needs_and_recoveries(views, now),
        *_section("under way", Colour.UNDER_WAY, list(map(_running, running))),
        *_quiet(views, now),
    ]


def needs_and_recoveries(views: Sequence[View], now: float) -> list[Block]:
    """What the page and the pi of one launcher show alike. `now`: epoch seconds."""
    recovered = sorted((one for view in views for one in view.recovered), key=lambda one: -one.at)
    return [
        *_section(NEEDS, Colour.NEEDS, list(_needs(needs_of(views)))),
        *_section(RECOVERED, Colour.DONE, [_recovery(one, now) for one in recovered]),
    ]


def _summary(views: Sequence[View]) -> Line:
    if not views:
        return Line("strawboss: no session of yours has launched subagents in the last days", Colour.TITLE)
    needs, recovered = len(needs_of(views)), sum(len(view.recovered) for view in views)
    told = [
        f"{needs} need{'s' * (needs == 1)} you" if needs else "nothing needs you",
        *([f"{recovered} {RECOVERED}"] if recovered else []),
    ]
    return Line(f"strawboss: {', '.join(told)}", Colour.TITLE)


def _section(title: str, colour: Colour, blocks: list[Block]) -> Iterable[Block]:
    if not blocks:
        return []
    rest = [Block((Line(f"and {len(blocks) - SHOWN} more", Colour.QUIET, 2),))] if len(blocks) > SHOWN else []
    return [Block((Line(""), Line(title.upper(), colour))), *blocks[:SHOWN], *rest]


def _needs(needs: Sequence[Need]) -> Iterable[Block]:
    """Those that one command sees to stand together, with the command below."""
    for command, group in groupby(needs, key=lambda need: need.command):
        alike = list(group)
        for need in alike:
            lines = [Line(f"{subject(need)} {cut(need.what, WHY_LENGTH)}", Colour.PLAIN, 2)]
            if command and need is alike[-1]:
                lines.append(_command(command))
            yield Block(tuple(lines), need)


def _command(command: str) -> Line:
    if command.startswith("/"):
        return Line(f"in its pi: {command}", Colour.COMMAND, 4)
    if command.startswith("subagent_resume "):
        return Line(f"ask it to call {command}", Colour.COMMAND, 4)
    return Line(command, Colour.COMMAND, 4, joint=SHELL_GOES_ON)


def subject(need: Need) -> str:
    launcher = named_launcher(need.launcher)
    return f"{named_run(need.run, need.name)} of {launcher}" if need.run else launcher


def named_run(run: str, name: str) -> str:
    return f'"{cut(name, NAME_LENGTH)}" ({cut(run, 8)})' if name else run


def named_launcher(launcher: Launcher) -> str:
    """By the name its user gave it, else by its directory."""
    name = launcher.name or PurePath(launcher.cwd).name or launcher.id
    return cut(name, NAME_LENGTH)


def _recovery(one: Recovery, now: float) -> Block:
    ago = f"{strftime('%H:%M', localtime(one.at))}, {duration(now - one.at)} ago:"
    text = f"{ago} {named_run(one.run, one.name)} of {named_launcher(one.launcher)} {one.what}"
    return Block((Line(text, Colour.PLAIN, 2),), one)


def _running(one: Running) -> Block:
    run = one.report
    machine = f"{run.machine}, " if run.machine else ""
    why = f"; {cut(run.obstacle.why, WHY_LENGTH)}" if run.obstacle else ""
    text = f"{named_run(run.run, run.name)} of {named_launcher(one.launcher)}: {machine}{run.state}{why}"
    return Block((Line(text, Colour.PLAIN, 2),), one)


def _quiet(views: Sequence[View], now: float) -> Iterable[Block]:
    quiet = [view for view in views if view.is_quiet]
    if not quiet:
        return []
    settled = sum(len(view.seen.runs) - view.at_work for view in quiet)
    told = [
        counted(len(quiet), "quiet launcher"),
        f"{counted(sum(view.at_work for view in quiet), 'run')} at work and {settled} settled",
        *_last_look(quiet, now),
    ]
    return [Block((Line(""), Line("; ".join(told), Colour.QUIET)))]


def _last_look(quiet: Sequence[View], now: float) -> list[str]:
    """How long ago the one that has waited longest was looked at."""
    times = [view.seen.looked_at for view in quiet if view.seen.watch is Watch.LOOKING]
    known = [at for at in times if at is not None]
    return [f"looked at {duration(now - min(known))} ago"] if known else []


def counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
