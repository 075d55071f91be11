"""`strawboss history`: what was done, for which run, when, and how it ended."""

from __future__ import annotations

import time
from datetime import datetime

import click

from strawboss.cli.params import DURATION
from strawboss.cli.shelf import session_named, shelf, unknown_run
from strawboss.cli.text import print_json, say
from strawboss.system.printable import printable
from strawboss.tape.find import knowing
from strawboss.tape.history import Event, history_of
from strawboss.tape.last import LastLook, last_looks
from strawboss.tape.shapes import Happened


@click.command()
@click.argument("run", required=False)
@click.option(
    "--since", type=DURATION, metavar="DURATION", help="Only what was done since then, for example 8h."
)
@click.option("--session", metavar="ID", help="Only of that launcher's session.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def history(run: str | None, since: float | None, session: str | None, as_json: bool) -> None:
    """Say what was done for runs; of all launchers of this user, oldest first, or for RUN alone."""
    launchers = [session_named(session)] if session else list(last_looks(shelf()))
    if run is not None and not knowing(run, launchers):
        raise unknown_run(run, launchers, session)
    begin = time.time() - since if since is not None else 0.0
    events = [
        event
        for one in launchers
        for event in history_of(one)
        if event.at >= begin and run in (None, event.run)
    ]
    events.sort(key=lambda event: event.at)
    if as_json:
        for event in events:
            print_json(as_data(event))
        return
    show(events, launchers)


def show(events: list[Event], launchers: list[LastLook]) -> None:
    names = {one.launcher.id: printable(one.launcher.name) or one.launcher.id for one in launchers}
    for event in events:
        name = f'"{printable(event.name)}" ' if event.name else ""
        say(f"{when(event.at)}  {event.run} {name}of {names[event.session]}: {event.sentence}", hanging="  ")
    if not events:
        say(
            f"nothing was done in that time for the runs of {len(launchers)} launcher{'s' if len(launchers) != 1 else ''}"
        )


def when(at: float) -> str:
    return (
        datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S") if at else "at an unknown time"
    )


def as_data(event: Event) -> Happened:
    return Happened(
        event.at, event.session, event.run, event.name, event.what, event.outcome, event.why, event.reported
    )
