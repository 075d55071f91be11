"""`strawboss herdr-plugin`: what herdr starts for the plugin. A person has no use for it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

import click

from strawboss.cli.help import Group
from strawboss.config import ConfigError, load_config
from strawboss.herdr.client import Herdr
from strawboss.herdr.installation import PLUGIN
from strawboss.recovery.commands import Outcome
from strawboss.recovery.verdict import Unknown
from strawboss.resident.connections import herdr_address
from strawboss.system.directories import config_file

ENTRYPOINT = "status"


@click.group("herdr-plugin", cls=Group, hidden=True)
def herdr_plugin() -> None:
    """Commands of the plugin in herdr (`strawboss install` links it)."""


@herdr_plugin.command("open")
def open_status() -> None:
    """Show the status of every launcher over what is there."""
    herdr = _herdr(os.environ)
    opened = herdr.open_pane(PLUGIN, ENTRYPOINT, "popup")
    if opened.outcome is Outcome.FAILED:  # one is open, or a menu of herdr is
        opened = herdr.open_pane(PLUGIN, ENTRYPOINT, "overlay")
    if opened.outcome is not Outcome.DONE:
        raise click.ClickException(opened.why)


def _herdr(environment: Mapping[str, str]) -> Herdr:
    try:
        config = load_config(config_file(), environment)
    except ConfigError as error:
        raise click.ClickException(str(error)) from error
    address = herdr_address(config, environment, sys.platform)
    if isinstance(address, Unknown):
        raise click.ClickException(address.why)
    return Herdr(address)
