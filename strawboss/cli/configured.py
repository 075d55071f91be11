"""The user's config, as a command needs it."""

from __future__ import annotations

import os

import click

from strawboss.config import Config, ConfigError, load_config
from strawboss.system.directories import config_file


def configured() -> Config:
    """One that cannot be read is a complaint."""
    try:
        return load_config(config_file(), os.environ)
    except ConfigError as error:
        raise click.ClickException(str(error)) from error
