"""Options the heartbeat commands share."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from strawboss.heartbeat.layout import SLUG_RULE, STATUS_DIRECTORY, is_safe_slug
from strawboss.heartbeat.utc import parse_utc
from strawboss.system.json_files import encode

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class PositiveNumber(click.ParamType[float]):
    """A finite number above zero; fractions are fine."""

    name = "number"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number = float(str(value))
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or number <= 0:
            self.fail(f"{value!r} is not a number above zero; write for example 30", param, ctx)
        return number


class UtcTime(click.ParamType[datetime]):
    """`2026-05-28T18:47:50Z`."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        moment = parse_utc(str(value))
        if moment is None:
            self.fail(f"{value!r} is not a UTC time; write for example 2026-05-28T18:47:50Z", param, ctx)
        return moment


class Slug(click.ParamType[str]):
    """An agent id that can name a file."""

    name = "id"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not is_safe_slug(str(value)):
            self.fail(f"{value!r} cannot be a file name; use {SLUG_RULE}", param, ctx)
        return str(value)


class Text(click.ParamType[str]):
    """Text that is not blank."""

    name = "text"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not str(value).strip():
            self.fail("is blank; give a value", param, ctx)
        return str(value)


POSITIVE, UTC_TIME, SLUG, TEXT = PositiveNumber(), UtcTime(), Slug(), Text()
DIRECTORY = click.Path(path_type=Path)

json_option = click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
target_option = click.option(
    "--target-id",
    "--target",
    "target",
    type=DIRECTORY,
    help="Worktree of the agent; the current directory if absent.",
)


def sweep_options(command: Decorated) -> Decorated:
    """What monitor and gate look at."""
    command = click.option(
        "--threshold-minutes",
        type=POSITIVE,
        default=30,
        show_default=True,
        help="A beat older than this is stale.",
    )(command)
    return click.option(
        "--scratch-dir",
        "scratch_dirs",
        multiple=True,
        default=[str(STATUS_DIRECTORY)],
        show_default=True,
        help="Status directory of a worktree; may be repeated.",
    )(command)


def say_json(report: object) -> None:
    """One JSON document on stdout, whatever the terminal's encoding."""
    click.echo(encode(report), nl=False)


def say_error(line: str) -> None:
    click.echo(line, err=True)
