"""What the commands of the wake-up protocol share: the open store, the registry, who is calling."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from strawboss.system.printable import printable
from strawboss.wakeup import agents
from strawboss.wakeup.agents import Agent, Permission, Registry, RegistryError
from strawboss.wakeup.store.database import Database, open_database
from strawboss.wakeup.store.errors import RefusedError, StoreError

# Who a person is in inboxes and histories.
PERSON = "boss"


@contextmanager
def opened(*, create: bool = False) -> Iterator[Database]:
    """The task store, with its refusals and failures as one line each."""
    try:
        database = open_database(create=create)
        try:
            yield database
        finally:
            database.close()
    except StoreError as error:
        raise click.ClickException(f"the task store: {error}") from None
    except RefusedError as error:
        raise click.ClickException(str(error)) from None


def registry() -> Registry:
    """The agent registry, or one line on what is wrong with it."""
    try:
        return agents.load()
    except RegistryError as error:
        raise click.ClickException(str(error)) from None


def agent_named(name: str | None) -> Agent:
    """The agent of that name; `self` and None are the one we run as."""
    name = os.environ.get("STRAWBOSS_AGENT", "").strip() if name in (None, "self") else name
    if not name:
        raise click.UsageError("which agent is this? give --agent NAME or set STRAWBOSS_AGENT")
    try:
        return registry().get(name)
    except RegistryError as error:
        raise click.ClickException(str(error)) from None


def caller() -> str:
    """The agent that runs this command, or the person."""
    return os.environ.get("STRAWBOSS_AGENT", "").strip() or PERSON


def current_task() -> str | None:
    """The task that the calling agent is working on."""
    return os.environ.get("STRAWBOSS_TASK", "").strip() or None


def require(permission: Permission) -> None:
    """A person may do anything, an agent what its entry in the registry permits."""
    if caller() != PERSON and permission not in agent_named(caller()).permissions:
        raise click.ClickException(
            f"{caller()} may not {permission}; its permissions in the agent registry say so"
        )


def say(text: str) -> None:
    """One line for people; what others wrote in it is made plain."""
    click.echo(printable(text))


def complain(text: str) -> None:
    """One line on stderr."""
    print(printable(text), file=sys.stderr)
