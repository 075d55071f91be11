"""Options the heartbeat commands share, and how they answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from strawboss.heartbeat.layout import (
    PLAIN_NAME_RULE,
    SLUG_RULE,
    STATUS_DIRECTORY,
    Worktree,
    is_plain_name,
    is_safe_slug,
)
from strawboss.heartbeat.places import NoPlaceError, existing_worktree, find_target, project_root
from strawboss.heartbeat.replies import Done
from strawboss.heartbeat.utc import parse_utc
from strawboss.system.json_files import encode
from strawboss.system.printable import printable

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class WorkerCommand(click.Command):
    """A command of the workers' contract: a place that had to be there and is not is wrong use."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except NoPlaceError as error:
            raise click.UsageError(str(error), ctx) from None


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
    """An agent id that can name a file we write."""

    name = "id"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not is_safe_slug(str(value)):
            self.fail(f"{value!r} cannot be a file name; use {SLUG_RULE}", param, ctx)
        return str(value)


class PlainName(click.ParamType[str]):
    """An agent id to be looked up among records that others wrote."""

    name = "id"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not is_plain_name(str(value)):
            self.fail(f"{value!r} is no plain name; use {PLAIN_NAME_RULE}", param, ctx)
        return str(value)


class Text(click.ParamType[str]):
    """Text that is not blank."""

    name = "text"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not str(value).strip():
            self.fail("is blank; give a value", param, ctx)
        return str(value)


class Directory(click.ParamType[Path]):
    """A directory that is there."""

    name = "directory"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if not Path(str(value)).is_dir():
            self.fail(f"{value} is not a directory", param, ctx)
        return Path(str(value))


POSITIVE, UTC_TIME, SLUG, PLAIN_NAME, TEXT = PositiveNumber(), UtcTime(), Slug(), PlainName(), Text()
EXISTING, DIRECTORY = Directory(), click.Path(path_type=Path)

json_option = click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
target_option = click.option(
    "--target-id",
    "--target",
    "target",
    type=TEXT,
    help="Worktree of the agent; the project or git tree one stands in if absent.",
)
project_option = click.option(
    "--project-root",
    type=EXISTING,
    help="Where the ledger of attempts is; the project the worktree belongs to if absent.",
)


def worktree(target: str | None) -> Worktree:
    """The worktree of a command; raises NoPlaceError when it is not there."""
    return existing_worktree(target, Path.cwd())


def project(given: Path | None) -> Path:
    """The project relative targets are looked for in."""
    return given or project_root(Path.cwd())


def target_path(target: str, given: Path | None) -> Path:
    """What a target means, whether it exists or not; raises NoPlaceError when it may be two."""
    return find_target(target, project(given), Path.cwd())


def below_project(directory: Path) -> Path:
    """A directory of the worktree one stands in, as short as it can be said."""
    root = project_root(Path.cwd())
    return directory if root == Path.cwd() else root / directory


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
        type=TEXT,
        default=lambda: [str(below_project(STATUS_DIRECTORY))],
        show_default=str(STATUS_DIRECTORY),
        help="Status directory of a worktree; may be repeated.",
    )(command)


def answer(code: int, said: str, as_json: bool, replaced: str = "") -> int:
    """The answer of a command that writes: what was done and what it took the place of, or why it was refused."""
    if as_json:
        say_json(Done(code == 0, code, printable(said), printable(replaced)))
        return code
    click.echo(printable(said), err=code != 0)
    if replaced:
        say_error(printable(f"note: replaced {replaced}"))
    return code


def say_json(report: object) -> None:
    """One JSON document on stdout, whatever the terminal's encoding."""
    click.echo(encode(report), nl=False)


def say_error(line: str) -> None:
    click.echo(line, err=True)
