"""`strawboss look SESSION_FILE`: one look from outside pi, which does nothing."""

from __future__ import annotations

import os
from pathlib import Path

import click

from strawboss.cli.configured import configured
from strawboss.cli.text import print_json, say
from strawboss.resident.outside import REGISTRY_UNKNOWN, NotASessionError, look_from_outside
from strawboss.tape.shapes import LookedAt, run_of
from strawboss.tape.words import sentence


@click.command()
@click.argument("session_file", metavar="SESSION_FILE", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def look(session_file: Path, as_json: bool) -> None:
    """Look once at a launcher's session and do nothing; whether its pi runs or not.

    SESSION_FILE is the session file of a pi that launched subagents. One look proves nothing: what is stranded is seen
    once.
    """
    config = configured()
    try:
        seen = look_from_outside(session_file, config, os.environ)
    except NotASessionError as error:
        raise click.UsageError(str(error)) from error
    if as_json:
        runs = [run_of(report) for report in seen.look.runs]
        print_json(LookedAt(seen.launcher.id, seen.launcher.file, REGISTRY_UNKNOWN, runs))
        return
    say(f"session {seen.launcher.id}, seen from outside: {REGISTRY_UNKNOWN}", hanging="  ")
    for report in sorted(seen.look.runs, key=lambda report: not report.stranded):
        say(sentence(report), "  ", "  ")
    if not seen.look.runs:
        say("it has launched no subagents", "  ")
