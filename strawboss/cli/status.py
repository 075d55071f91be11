"""`strawboss status`: every launcher of this user on this machine, what needs a person first."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator

import click

from strawboss.cli.configured import configured
from strawboss.cli.params import DURATION
from strawboss.config import Config
from strawboss.overview.judge import WEEK_SECONDS, View, needs_of, view
from strawboss.overview.layout import joined
from strawboss.overview.page import page
from strawboss.survey.find import Survey


@click.command()
@click.option(
    "--since",
    type=DURATION,
    default=WEEK_SECONDS,
    show_default="7d",
    help="How far back a run of a closed launcher that has not reported is shown.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object, as docs/cli.md says.")
@click.option("--watch", is_flag=True, help="On the whole terminal, again and again; q ends it.")
def status(since: float, as_json: bool, watch: bool) -> int:
    """Show every launcher of yours on this machine: what needs you, what was recovered, what is under way.

    Exit code 0 when nothing needs you, 1 when something does.

    With --watch the arrows choose, Enter explains what is chosen (Esc goes back), f brings its pane in herdr to the
    front, o opens a closed launcher in a new tab of herdr, c copies the command that is shown with it. Nothing is ever
    typed into a pane.
    """
    if watch:
        reason = why_not_watched(as_json)
        if reason:
            raise click.UsageError(reason)
    config = configured()
    if watch:
        from strawboss.cli.watch import watch as watch_status

        return int(bool(needs_of(watch_status(config, lambda: views_of(config, since)))))
    views = views_of(config, since)
    if as_json:
        show_json(views)
    else:
        show_page(views)
    return int(bool(needs_of(views)))


def why_not_watched(as_json: bool) -> str:
    if as_json:
        return "--watch is for people and --json for programs; choose one"
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return "--watch needs a terminal; leave it out, or write --json"
    try:
        import curses  # noqa: F401 - asked for here, where it can still be said in one line that it is not there
    except ImportError:
        return (
            "--watch needs curses, which this Python lacks: `pip install windows-curses` brings it to Windows"
        )
    return ""


def views_of(config: Config, since: float) -> list[View]:
    """Those that need somebody first, then by what there is to tell."""
    now = time.time()
    views = [view(seen, now, since) for seen in Survey(config, os.environ, since, now).launchers()]
    return sorted(
        views, key=lambda one: (not one.needs, not one.recovered, not one.under_way, one.seen.launcher.id)
    )


def show_json(views: list[View]) -> None:
    import msgspec

    from strawboss.overview.report import status as report

    sys.stdout.write(msgspec.json.encode(report(views)).decode() + "\n")


def show_page(views: list[View]) -> None:
    for line in page_lines(views):
        print(line)


def page_lines(views: list[View]) -> Iterator[str]:
    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if terminal else None
    lines = (line for block in page(views, time.time()) for line in block.lines)
    return iter(joined(lines, width, colours=terminal and not os.environ.get("NO_COLOR")))
