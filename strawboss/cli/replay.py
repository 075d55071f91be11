"""`strawboss replay` and `strawboss explain`: recorded looks, run again."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

import click
import msgspec

from strawboss.cli.tables import show_table
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
from strawboss.recovery.settings import Settings
from strawboss.system.printable import printable
from strawboss.tape.cases import open_fixture
from strawboss.tape.play import Summary, Told, explain_last, play, reason, summarize
from strawboss.tape.recorded_look import Evidence, NotARecordingError
from strawboss.tape.recording import open_recording

PLATFORMS = ("linux", "darwin", "win32")


def moments(command: Callable[..., None]) -> Callable[..., None]:
    """The arguments that say which looks to take, as whom, and where."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="One JSON object a line."),
        click.option(
            "--platform", type=click.Choice(PLATFORMS), help="As if on this system (default: linux)."
        ),
        click.option(
            "--launcher", metavar="ID", help="The launcher's session id, when several were recorded."
        ),
        click.argument("moments", nargs=-1, required=True, metavar="MOMENT…"),
    ):
        command = option(command)
    return command


@click.command()
@moments
def replay(moments: tuple[str, ...], launcher: str | None, platform: str | None, as_json: bool) -> None:
    """Run recorded looks again and say what is done and why.

    Each MOMENT is one look: the directory of a recorded moment (the same one may be given several times), or a
    .json fixture that holds several looks. Effects are played, never carried out.
    """
    story, _ = play(open_moments(moments, launcher, platform), Settings())
    summary = summarize(story)
    if as_json:
        for told in story:
            print_json(look_as_data(told))
        print_json({"summary": summary_as_data(summary)})
    else:
        for told in story:
            show_look(told)
        show_summary(summary)


@click.command()
@click.argument("run", metavar="RUN")
@moments
def explain(
    run: str, moments: tuple[str, ...], launcher: str | None, platform: str | None, as_json: bool
) -> None:
    """Print every condition of both machines for RUN at the last MOMENT: Yes, No or Unknown, and why."""
    looks = open_moments(moments, launcher, platform)
    known = looks[-1].runs()
    if not hasattr(known, "why") and run not in known:
        raise click.UsageError(
            f"no run {run} in the last moment; there are: {', '.join(sorted(known)) or 'none'}"
        )
    rows = [
        (machine, verdict.condition, verdict.answer.value, verdict.why)
        for machine, verdicts in explain_last(looks, run)
        for verdict in verdicts
    ]
    if as_json:
        for machine, condition, answer, why in rows:
            print_json({"machine": machine, "condition": condition, "answer": answer, "why": why})
    else:
        show_table(("machine", "condition", "answer", "why"), rows)


def open_moments(names: tuple[str, ...], launcher: str | None, platform: str | None) -> list[Evidence]:
    looks: list[Evidence] = []
    try:
        for name in names:
            path = Path(name)
            if path.suffix == ".json" and not path.is_dir():
                looks.extend(fixture_of(path, launcher, platform))
            else:
                looks.append(open_recording(path, launcher, platform or "linux"))
    except NotARecordingError as error:
        raise click.UsageError(str(error)) from error
    return looks


def fixture_of(path: Path, launcher: str | None, platform: str | None) -> list[Evidence]:
    looks = open_fixture(path, platform)
    own = looks[0].launcher.id
    if launcher not in (None, own):
        raise NotARecordingError(f"{path}: no launcher {launcher}; it is told of {own}")
    return looks


# -- JSON ------------------------------------------------------------------------------------------------------


def print_json(data: object) -> None:
    sys.stdout.write(msgspec.json.encode(data).decode() + "\n")


def look_as_data(told: Told) -> dict[str, object]:
    return {
        "look": told.number,
        "moment": told.label,
        "runs": [run_as_data(report) for report in told.runs],
        "commands": [
            {**command_as_data(command), "answer": plain_data(answer)} for command, answer in told.done
        ],
    }


def run_as_data(report: RunReport) -> dict[str, object]:
    obstacle = report.obstacle
    return {
        "run": report.run,
        "name": report.name,
        "machine": report.machine,
        "state": report.state,
        "stranded": report.stranded,
        "verdict": obstacle.answer.value if obstacle else "yes",
        "condition": obstacle.condition if obstacle else "",
        "why": obstacle.why if obstacle else "",
    }


def command_as_data(command: Command) -> dict[str, object]:
    fields: dict[str, object] = msgspec.to_builtins(command)
    return {"command": type(command).__name__, **fields}


def plain_data(answer: Any) -> object:
    return msgspec.to_builtins(
        answer, enc_hook=lambda value: value.value if isinstance(value, Enum) else str(value)
    )


def summary_as_data(summary: Summary) -> dict[str, object]:
    return {
        "nudged": summary.nudged,
        "closed": summary.closed,
        "resumed": summary.resumed,
        "continued": summary.continued,
        "gaveUp": summary.gave_up,
        "untouched": summary.untouched,
    }


# -- for people ------------------------------------------------------------------------------------------------


def show_look(told: Told) -> None:
    print(f"\nLook {told.number}: {printable(told.label)}")
    show_table(
        ("run", "name", "machine", "verdict", "first condition that does not hold"),
        [(one.run, one.name, one.machine or "-", one.state, str(one.obstacle or "-")) for one in told.runs],
    )
    for command, answer in told.done:
        print(f"  → {describe(command)}{ending(answer)}")


def describe(command: Command) -> str:
    match command:
        case WriteKey(key, run, _):
            return f"write key {key} for {run}"
        case ClosePane(pane):
            return f"close pane {printable(pane)}"
        case SendIntercom(session, _, text):
            return f"send to {printable(session)} over intercom:\n{indented(text)}"
        case TellLauncher(_, _, text):
            return f"tell the launcher:\n{indented(text)}"
        case Notify(level, text):
            return f"notify ({level}): {printable(text)}"
    return type(command).__name__


def ending(answer: Any) -> str:
    if isinstance(answer, Result) and answer.outcome.value != "done":
        return f"\n    {answer.outcome.value}: {printable(answer.why)}"
    return "" if answer in (None, True) or isinstance(answer, Result) else "\n    not confirmed"


def indented(text: str) -> str:
    return "\n".join(f"      {printable(line)}" for line in text.splitlines())


def show_summary(summary: Summary) -> None:
    print("\nSummary")
    for word, names in (
        ("nudged", summary.nudged),
        ("panes closed", summary.closed),
        ("handed to the launcher", summary.resumed),
        ("told to go on", summary.continued),
        ("gave up", summary.gave_up),
    ):
        print(f"  {word}: {printable(', '.join(names)) or 'none'}")
    for run, why in summary.untouched.items():
        print(f"  untouched: {run}, {printable(why)}")


__all__ = ["explain", "reason", "replay"]
