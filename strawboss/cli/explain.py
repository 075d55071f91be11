"""`strawboss explain RUN`: why something was done for it, or was not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from strawboss.cli.otherwise import SETTING, under
from strawboss.cli.params import POINT_IN_TIME
from strawboss.cli.replay import moments as recorded_options
from strawboss.cli.replay import opened
from strawboss.cli.shelf import launcher_of
from strawboss.cli.text import print_json, say
from strawboss.overview.layout import Line
from strawboss.recovery.explain import Explanation
from strawboss.recovery.memory import RunReport
from strawboss.system.directories import file_name
from strawboss.system.printable import printable
from strawboss.tape.find import Seen, see
from strawboss.tape.last import LastLook
from strawboss.tape.look_interface import Evidence
from strawboss.tape.play import Under, explain_last, play
from strawboss.tape.shapes import Explained, conditions_of, run_of
from strawboss.tape.shelf import newest_segment
from strawboss.tape.words import condition_lines, sentence

WATCH_SECONDS = 0.5


@click.command()
@click.argument("run", metavar="RUN")
@recorded_options
@click.argument("looks", nargs=-1, metavar="[LOOKS…]")
@click.option(
    "--at",
    type=POINT_IN_TIME,
    help="As the last look before that time saw it: 03:15, an ISO time, or 10m (ago).",
)
@click.option("--session", metavar="ID", help="The launcher's session, where the same run id exists twice.")
@click.option("--watch", is_flag=True, help="Again at each look that changes something; Ctrl-C ends it.")
@SETTING
@click.option("--all", "whole", is_flag=True, help="With the conditions that hold.")
def explain(
    run: str,
    looks: tuple[str, ...],
    launcher: str | None,
    platform: str | None,
    at: float | None,
    session: str | None,
    watch: bool,
    settings: tuple[tuple[str, Any], ...],
    whole: bool,
    as_json: bool,
) -> None:
    """Say why something was done for RUN, or was not: as the last look of its launcher saw it.

    Conditions are shown as they stood before the look did anything; those that do not hold come first. LOOKS (a tape,
    an incident, recorded moments, a case) explain a run of theirs instead. With --set they, or those of the newest tape
    of its launcher, are taken anew under that setting.
    """
    if settings and not looks:
        looks, session = newest_looks(run, session), None
    if looks:
        if at is not None or session or watch:
            raise click.UsageError(
                "--at, --session and --watch are for the runs of this machine; leave LOOKS and --set out"
            )
        report, conditions = explain_recorded(list(opened(looks, launcher, platform)), run, under(settings))
        show(report, conditions, as_json, whole)
        return
    found = launcher_of(run, session)
    if watch:
        with suppress(KeyboardInterrupt):
            follow(found, run, as_json, whole)
        return
    show_seen(found, run, at, as_json, whole)


def newest_looks(run: str, session: str | None) -> tuple[str, ...]:
    """The newest segment of its launcher's tape; none where it has no tape, which `show_seen` says."""
    newest = newest_segment(launcher_of(run, session).session)
    return (str(newest),) if newest else ()


def explain_recorded(
    looks: list[Evidence], run: str, settings: Under | None = None
) -> tuple[RunReport, Explanation]:
    story, _ = play(looks, settings)
    last = {report.run: report for report in story[-1].runs}
    if run not in last:
        known = ", ".join(sorted(last)) or "none"
        raise click.UsageError(f"no run {run} in the last look; there are: {known}")
    return last[run], explain_last(looks, run, settings)


def show_seen(found: LastLook, run: str, at: float | None, as_json: bool, whole: bool) -> None:
    seen = see(found.session, run, at)
    if seen is None:
        when = " before that time" if at is not None else ""
        raise click.UsageError(f"the tape has no look at run {run}{when}; it may have been dropped by now")
    show(seen.report, seen.conditions, as_json, whole, seen)


def follow(found: LastLook, run: str, as_json: bool, whole: bool) -> None:
    """A segment that has grown has another look; it is shown where it says something else."""
    shown, size = None, None
    while True:
        newest = newest_segment(found.session)
        now = (newest, newest.stat().st_size) if newest else None
        seen = see(found.session, run) if now != size else None
        if seen is not None and (seen.report, seen.conditions) != shown:
            if shown is not None and not as_json:
                print()
            show(seen.report, seen.conditions, as_json, whole, seen)
            shown = (seen.report, seen.conditions)
        size = now
        time.sleep(WATCH_SECONDS)


# -- how it is shown -------------------------------------------------------------------------------------------


def show(
    report: RunReport, conditions: Explanation, as_json: bool, whole: bool, seen: Seen | None = None
) -> None:
    if as_json:
        print_json(as_data(report, conditions, seen))
        return
    for line in lines_of(report, conditions, whole, seen):
        say(line.text, " " * line.indent, "  ")


def lines_of(
    report: RunReport, conditions: Explanation, whole: bool, seen: Seen | None = None
) -> Iterator[Line]:
    yield Line(sentence(report))
    if seen is not None:
        yield Line(where(seen), indent=2)
    yield from (Line(line, indent=2) for line in condition_lines(report, conditions, whole))


def last_lines(shelf: Path, run: str, session: str) -> list[Line]:
    """As the last look of that launcher that its tape has saw the run; none where no tape has one."""
    seen = see(shelf / file_name(session), run)
    return list(lines_of(seen.report, seen.conditions, True, seen)) if seen else []


def as_data(report: RunReport, conditions: Explanation, seen: Seen | None) -> Explained:
    session, at = (seen.look.launcher.id, seen.look.label) if seen else ("", "")
    return Explained(sentence(report), run_of(report), conditions_of(conditions), session, at)


def where(seen: Seen) -> str:
    launcher = seen.look.launcher
    at = datetime.fromtimestamp(seen.look.clock.wall).astimezone().isoformat(" ", "seconds")
    name = f'"{printable(launcher.name)}" ' if launcher.name else ""
    return f"as the look of {at} saw it, for launcher {name}{launcher.id}"
