"""`strawboss replay`: looks that were recorded, run again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import click

from strawboss.cli.otherwise import SETTING, under
from strawboss.cli.tables import show_table
from strawboss.cli.text import print_json, say, say_text
from strawboss.recovery.commands import (
    ClosePane,
    Command,
    Notify,
    Result,
    SendIntercom,
    TellLauncher,
    WriteKey,
)
from strawboss.recovery.memory import RunReport
from strawboss.system.printable import printable
from strawboss.tape.door import open_looks
from strawboss.tape.look_interface import Evidence, NotARecordingError
from strawboss.tape.play import Told, play, summarize
from strawboss.tape.save import SavedTape
from strawboss.tape.shapes import look_of, summary_of
from strawboss.tape.words import sentence

PLATFORMS = ("linux", "darwin", "win32")


def moments(command: Callable[..., Any]) -> Callable[..., Any]:
    """The arguments that say which looks to take, as whom, and where."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="One JSON object a line."),
        click.option(
            "--platform", type=click.Choice(PLATFORMS), help="As if on this system (default: linux)."
        ),
        click.option(
            "--launcher", metavar="ID", help="The launcher's session id, when several were recorded."
        ),
    ):
        command = option(command)
    return command


@click.command()
@moments
@click.argument("moments", nargs=-1, required=True, metavar="LOOKS…")
@click.option("--full", is_flag=True, help="With the texts that were sent and shown.")
@click.option(
    "--diff", is_flag=True, help="Only where this version decides otherwise than the tape; exit 1 then."
)
@SETTING
@click.option(
    "--save", type=click.Path(dir_okay=False, path_type=Path), help="Write what was replayed as a tape."
)
def replay(
    moments: tuple[str, ...],
    launcher: str | None,
    platform: str | None,
    as_json: bool,
    full: bool,
    diff: bool,
    settings: tuple[tuple[str, Any], ...],
    save: Path | None,
) -> int:
    """Run recorded looks again and say what is done and why.

    LOOKS are a tape, an incident, the directory of a recorded moment (one look; it may be given several times), a folder
    of moments (in the order of their names, the last one twice), or a case that ends in .json. The effects on a tape are
    as they were; all others are played, never carried out.
    """
    looks = opened(moments, launcher, platform)
    if diff:
        looks = taped(looks)
    saved = SavedTape() if save else None
    story, _ = play(looks, under(settings), saved.record if saved else None)
    if saved and save:
        _save(saved, save)
    if diff:
        return show_differences(story, as_json)
    show(story, as_json, full)
    return 0


def opened(names: Sequence[str], launcher: str | None, platform: str | None) -> Iterator[Evidence]:
    """All of them, one after the other; what cannot be opened is said before anything is played."""
    try:
        each = [open_looks(Path(name), launcher, platform) for name in names]
    except NotARecordingError as error:
        raise click.UsageError(str(error)) from error
    return (look for looks in each for look in looks)


def taped(looks: Iterator[Evidence]) -> Iterator[Evidence]:
    """Only a tape says how it was decided before."""
    first = next(looks)
    if first.taped is None:
        raise click.UsageError(
            f"{first.label} is no tape, so there is nothing it was decided before; leave --diff out"
        )
    return chain([first], looks)


def _save(saved: SavedTape, file: Path) -> None:
    try:
        saved.write(file)
    except OSError as error:
        raise click.ClickException(f"{file}: cannot be written ({error.strerror})") from error


# -- what came out ---------------------------------------------------------------------------------------------


def show(story: list[Told], as_json: bool, full: bool) -> None:
    if as_json:
        print_json(summary_of(summarize(story)))
        for told in story:
            print_json(look_of(told))
        return
    show_summary(story)
    show_looks(story, full)


def show_summary(story: list[Told]) -> None:
    last = {report.run: report for told in story for report in told.runs}
    print(
        f"{len(story)} look{'s' if len(story) != 1 else ''}, {len(last)} run{'s' if len(last) != 1 else ''}"
    )
    for report in last.values():
        say(sentence(report), "  ", "  ")


def show_looks(story: list[Told], full: bool) -> None:
    """Each that says or does something else than the one before; how many were as that one."""
    before, again = None, list[Told]()
    for told in story:
        if before is not None and is_again(told, before):
            again.append(told)
            continue
        show_again(again)
        show_look(told, full)
        before, again = told, []
    show_again(again)


def is_again(told: Told, before: Told) -> bool:
    return told.ended and before.ended and not told.done and told.runs == before.runs


def show_again(again: list[Told]) -> None:
    if again:
        to = f"s {again[0].number} to {again[-1].number}" if len(again) > 1 else f" {again[0].number}"
        print(f"\nLook{to}: as the one before, and nothing was done")


def show_look(told: Told, full: bool) -> None:
    ended = "" if told.ended else ", in which the process ended"
    print(f"\nLook {told.number}: {printable(told.label)}{ended}")
    if told.runs:
        show_table(
            ("run", "name", "machine", "state", "first condition that does not hold"), map(_row, told.runs)
        )
    for command, answer in told.done:
        say(f"→ {describe(command)}{ending(answer)}", "  ", "  ")
        if full and (text := getattr(command, "text", "")):
            say_text(text, "      ")


def _row(report: RunReport) -> tuple[str, ...]:
    return (report.run, report.name, report.machine or "-", report.state, str(report.obstacle or "-"))


def describe(command: Command) -> str:
    match command:
        case WriteKey(key, run, _):
            return f"write key {key} for {run}"
        case ClosePane(pane):
            return f"close pane {pane}"
        case SendIntercom(session, _, _):
            return f"send to {session} over intercom"
        case TellLauncher(_, runs, _):
            return f"tell the launcher of {', '.join(runs)}"
        case Notify(level, _):
            return f"notify ({level})"
    return type(command).__name__


def ending(answer: Any) -> str:
    if isinstance(answer, Result) and answer.outcome.value != "done":
        return f": {answer.outcome.value} ({answer.why})" if answer.why else f": {answer.outcome.value}"
    return "" if answer in (None, True) or isinstance(answer, Result) else ": not confirmed"


def show_differences(story: list[Told], as_json: bool) -> int:
    otherwise = [told for told in story if told.differs]
    if as_json:
        for told in otherwise:
            print_json(look_of(told))
    elif not otherwise:
        print(f"{len(story)} looks, all decided as they were")
    else:
        print(
            f"{len(story)} looks, {len(otherwise)} decided otherwise, the first of them look {otherwise[0].number}"
        )
        for told in otherwise:
            for one in told.differs:
                of = f"run {one.run}" if one.run else "the look"
                say(f"look {told.number} ({told.label}), {of}: then {one.then}; now {one.now}", "  ", "  ")
    return int(bool(otherwise))
