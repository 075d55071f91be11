"""`strawboss run`: the process inside pi. The extension starts it; a person has no use for it."""

from __future__ import annotations

import os
import sys

import click

from strawboss.resident.process import run as run_process


@click.command(hidden=True)
def run() -> int:
    """Work for the pi session at the other end of stdin and stdout (started by the extension)."""
    if sys.stdin.isatty() or sys.stdout.isatty():
        raise click.UsageError("the extension inside pi starts this; run `strawboss install` and then pi")
    # Whatever else prints must not reach the extension's pipe.
    stdout = os.dup(1)
    os.dup2(2, 1)
    return run_process(os.environ, 0, stdout)
