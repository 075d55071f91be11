"""`strawboss store`: make the task store, look whether it is well, forget what is long over."""

from __future__ import annotations

import json
import time
from contextlib import suppress

import click

from strawboss.cli.help import Group
from strawboss.cli.params import DURATION
from strawboss.cli.stores import PERSON, caller, opened, say
from strawboss.wakeup.steps import output_directory
from strawboss.wakeup.store import upkeep


@click.group(cls=Group)
def store() -> None:
    """The task store itself."""


@store.command()
def create() -> None:
    """Make the store that STRAWBOSS_STORE names; one that is there is left as it is."""
    with opened(create=True) as database:
        say(f"the task store is there: {database.where}")


@store.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def check(as_json: bool) -> int:
    """Read all of the store and look for what contradicts itself. Exit code 1: something does."""
    with opened() as database, database.read() as connection:
        complaints, counts = upkeep.complaints(connection), upkeep.counts(connection)
    if as_json:
        click.echo(json.dumps({"well": not complaints, "complaints": complaints, "rows": counts}))
    for line in complaints if not as_json else []:
        say(line)
    if not as_json and not complaints:
        say(f"the task store is well: {_listed(counts)}")
    return 1 if complaints else 0


@store.command()
@click.option(
    "--older-than", "age", type=DURATION, required=True, metavar="AGE", help="What is over for so long: 30d."
)
def prune(age: float) -> None:
    """Forget old history, ended wake-ups, messages that were read, and old output. Tasks and results stay."""
    if caller() != PERSON:
        raise click.ClickException("only a person prunes the task store")
    with opened() as database:
        now = database.now()
        with database.write() as connection:
            gone = upkeep.prune(connection, now - age, now)
            running = upkeep.open_cycles(connection)
    say(f"forgotten: {_listed(gone | {'output files': _prune_output(time.time() - age, running)})}")


def _prune_output(before: float, running: list[str]) -> int:
    """Those of this machine; what an open wake-up writes to is left alone."""
    count = 0
    with suppress(FileNotFoundError):
        for file in output_directory().iterdir():
            if not any(cycle in file.name for cycle in running) and file.lstat().st_mtime < before:
                file.unlink(missing_ok=True)
                count += 1
    return count


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())
