"""`strawboss install`, `uninstall`, `doctor`."""

from __future__ import annotations

import os
import sys

import click
import msgspec

from strawboss.doctor.examine import examine
from strawboss.doctor.finding import Finding, Health
from strawboss.herdr import installation as plugin
from strawboss.herdr.command import HerdrCommandError
from strawboss.pi import installation
from strawboss.pi.command import Pi, PiError
from strawboss.system.printable import printable

COLOURS = {Health.OK: "green", Health.NOTE: "yellow", Health.FIX: "red"}


@click.command()
@click.option("--no-herdr", is_flag=True, help="Do not link the plugin with herdr.")
def install(no_herdr: bool) -> None:
    """Register the extension with pi; every session in herdr is watched then. The plugin is linked with herdr."""
    try:
        done = installation.install(Pi(os.environ), os.environ, sys.executable)
    except PiError as error:
        raise click.ClickException(str(error)) from error
    if not no_herdr:
        done += _link()
    _say([*done, "start pi in herdr, or /reload where it runs; /strawboss there shows what is seen"])


@click.command()
def uninstall() -> None:
    """Take the extension out of pi again. The plugin is taken out of herdr; logs and keys already written stay."""
    _say(_unlink())
    try:
        done = installation.uninstall(Pi(os.environ), os.environ)
    except PiError as error:
        raise click.ClickException(str(error)) from error
    _say([*done, "/reload the pi sessions that run"] if done else ["strawboss was not installed in pi"])


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of lines.")
def doctor(as_json: bool) -> int:
    """Check everything strawboss stands on: one line each, with what to do. Exit 1 when something is to be fixed.

    It changes nothing on disk. With --json: {"findings": [{"subject", "health", "text", "fix"}], "to_fix": N}; health
    is ok, note (may well be as it should) or fix.
    """
    findings = examine(os.environ)
    to_fix = sum(finding.health is Health.FIX for finding in findings)
    if as_json:
        click.echo(msgspec.json.encode({"findings": findings, "to_fix": to_fix}))
    else:
        for finding in findings:
            _show(finding)
    return int(to_fix > 0)


def _show(finding: Finding) -> None:
    mark = click.style(f"{finding.health.value:<4}", fg=COLOURS[finding.health])
    fix = f" -> {printable(finding.fix)}" if finding.fix else ""
    click.echo(f"{mark}  {finding.subject}: {printable(finding.text)}{fix}")


def _link() -> list[str]:
    """Recovery does not need the plugin, so a herdr that will not have it is told and no failure."""
    try:
        return plugin.install(os.environ, plugin.plugin_directory(), sys.executable)
    except HerdrCommandError as error:
        return [f"no plugin was linked with herdr: {error}"]


def _unlink() -> list[str]:
    try:
        return plugin.uninstall(os.environ, plugin.plugin_directory())
    except HerdrCommandError as error:
        return [f"the plugin is still in herdr: {error}"]


def _say(lines: list[str]) -> None:
    for line in lines:
        click.echo(printable(line))
