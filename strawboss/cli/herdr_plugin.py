"""`strawboss herdr-plugin`: what herdr starts for the plugin. A person has no use for it."""

from __future__ import annotations

import os
import sys

import click

from strawboss.cli.configured import configured
from strawboss.cli.help import Group
from strawboss.config import Config, state_directory
from strawboss.herdr.address import Address
from strawboss.herdr.client import Herdr
from strawboss.herdr.installation import PLUGIN
from strawboss.recovery.commands import Outcome
from strawboss.recovery.verdict import Unknown
from strawboss.resident.connections import herdr_address
from strawboss.survey.announce import announce_once
from strawboss.system.directories import file_name

ENTRYPOINT = "status"


@click.group("herdr-plugin", cls=Group, hidden=True)
def herdr_plugin() -> None:
    """Commands of the plugin in herdr (`strawboss install` links it)."""


@herdr_plugin.command("open")
def open_status() -> None:
    """Show the status of every launcher over what is there."""
    herdr = Herdr(_address(configured()))
    opened = herdr.open_pane(PLUGIN, ENTRYPOINT, "popup")
    if opened.outcome is Outcome.FAILED:  # one is open, or a menu of herdr is
        opened = herdr.open_pane(PLUGIN, ENTRYPOINT, "overlay")
    if opened.outcome is not Outcome.DONE:
        raise click.ClickException(opened.why)


@herdr_plugin.command("announce")
def announce() -> None:
    """Say once what was recovered since herdr has started, and what needs a person."""
    config = configured()
    address = _address(config)
    file = state_directory(config, os.environ) / "announced" / f"{file_name(str(address))}.json"
    try:
        text = announce_once(file, Herdr(address), config, os.environ)
    except OSError as error:
        raise click.ClickException(f"{error.filename or file} cannot be used ({error.strerror})") from error
    if text:
        click.echo(text)


def _address(config: Config) -> Address:
    address = herdr_address(config, os.environ, sys.platform)
    if isinstance(address, Unknown):
        raise click.ClickException(address.why)
    return address
