"""`strawboss incident`: what happened, as one file that names nobody and nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import click

from strawboss.cli.params import DURATION
from strawboss.cli.replay import show
from strawboss.cli.shelf import only_session, session_named
from strawboss.cli.text import say
from strawboss.system.files import write_atomically
from strawboss.tape.door import open_looks
from strawboss.tape.incident import Incident, NotTheSameError, make_incident, since
from strawboss.tape.look_interface import NotARecordingError
from strawboss.tape.play import play
from strawboss.tape.reader import read_session
from strawboss.tape.taped_look import TapedLook

KEY_BYTES = 32
READ_IT = "`strawboss incident --show FILE` prints what is in it"


@click.command()
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="The file to write.")
@click.option("--session", metavar="ID", help="The launcher's session, or the beginning of its id.")
@click.option("--last", type=DURATION, metavar="DURATION", help="Only the looks since then, for example 10m.")
@click.option(
    "--tape", "file", type=click.Path(path_type=Path), help="A tape in a file, instead of this machine's."
)
@click.option("--show", "shown", type=click.Path(path_type=Path), metavar="FILE", help="Print an incident.")
def incident(
    output: Path | None, session: str | None, last: float | None, file: Path | None, shown: Path | None
) -> None:
    """Write a file to attach to a bug report: what a launcher's process saw and did.

    Every name, path, id, branch, text and argument is replaced by a stand-in, the same one everywhere. Kinds, states,
    sizes, equalities and the times between the looks stay. Before it is written it is run: it must decide the same.
    """
    if shown is not None:
        show_incident(shown)
        return
    if output is None:
        raise click.UsageError("where to write it is missing; write for example -o incident.jsonl")
    looks = chosen(session, last, file)
    made = make(looks)
    try:
        write_atomically(output, made.content)
    except OSError as error:
        raise click.ClickException(f"{output}: cannot be written ({error.strerror})") from error
    size = max(len(made.content) // 1024, 1)
    say(f"{output}: {len(looks)} looks, {size} kB, decided the same when run again; {READ_IT}")


def chosen(session: str | None, last: float | None, file: Path | None) -> list[TapedLook]:
    """At least one look."""
    if file is not None:
        looks = taped(file)
    else:
        found = session_named(session) if session else only_session()
        looks = list(read_session(found.session))
    if last is not None and looks:
        # A tape in a file ended some time ago: its own end counts.
        end = looks[-1].clock.wall if file is not None else time.time()
        looks = since(looks, end - last)
    if not looks:
        raise click.UsageError("there are no looks in that time; leave --last out or make it longer")
    return looks


def taped(file: Path) -> list[TapedLook]:
    try:
        looks = list(open_looks(file))
    except NotARecordingError as error:
        raise click.UsageError(str(error)) from error
    found = [look.taped for look in looks if look.taped is not None]
    if len(found) < len(looks):
        raise click.UsageError(f"{file}: no tape; `strawboss replay --save TAPE {file}` makes one of it")
    return found


def make(looks: Sequence[TapedLook]) -> Incident:
    try:
        return make_incident(looks, os.urandom(KEY_BYTES))
    except NotTheSameError as error:
        raise click.ClickException(f"nothing was written: {error}") from error


def show_incident(file: Path) -> None:
    looks = taped(file)
    first, last = looks[0], looks[-1]
    say(
        f"{file}: {len(looks)} looks over {last.clock.wall - first.clock.wall:.0f} s, taken by strawboss "
        f"{first.segment.strawboss} on {first.launcher.platform}; names are stand-ins, and the first look was at "
        f"{first.label}"
    )
    story, _ = play(looks)
    show(story, as_json=False, full=True)
