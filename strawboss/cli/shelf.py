"""The tapes of this user on this machine, as the commands find them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from strawboss.cli.configured import configured
from strawboss.config import state_directory
from strawboss.system.printable import printable
from strawboss.tape.find import knowing
from strawboss.tape.last import LastLook, last_looks
from strawboss.tape.shelf import TAPES
from strawboss.tape.words import NEAR, near


def shelf() -> Path:
    """The directory of all tapes; a config that cannot be read is a complaint."""
    return state_directory(configured(), os.environ) / TAPES


def launcher_of(run: str, session: str | None) -> LastLook:
    """The one launcher that knows the run; a complaint that says which there are otherwise."""
    launchers = [session_named(session)] if session else list(last_looks(shelf()))
    found = knowing(run, launchers)
    if len(found) == 1:
        return found[0]
    if found:
        sessions = ", ".join(_named(one) for one in found)
        raise click.UsageError(
            f"run {run} exists in {len(found)} sessions; choose one with --session: {sessions}"
        )
    raise unknown_run(run, launchers, session)


def unknown_run(run: str, launchers: Sequence[LastLook], session: str | None) -> click.UsageError:
    """A complaint that names the runs most like it among those of these launchers, else the newest of them."""
    newest = sorted(launchers, key=lambda one: one.looked_at, reverse=True)
    known = [one.run for last in newest for one in last.runs]
    like = near(run, known)
    hint = f"near it are {', '.join(like)}" if like else f"there are {', '.join(known[:NEAR]) or 'none'}"
    whose = f"session {launchers[0].launcher.id}" if session else "any launcher of this user"
    return click.UsageError(f"{printable(run)[:80]!r} is no run of {whose}; {hint}")


def session_named(session: str) -> LastLook:
    """The launcher with that session id, or the only one whose id begins so."""
    all_of_them = list(last_looks(shelf()))
    exact = [one for one in all_of_them if one.launcher.id == session]
    found = exact or [one for one in all_of_them if session and one.launcher.id.startswith(session)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(_named(one) for one in (found or all_of_them)[-5:]) or "none"
    raise click.UsageError(f"no tape of a session {printable(session)[:80]!r}; there are {known}")


def _named(one: LastLook) -> str:
    name = printable(one.launcher.name)[:40]
    return f'{one.launcher.id} "{name}"' if name else one.launcher.id


def only_session() -> LastLook:
    """The one launcher there is a tape of; a complaint that says which there are otherwise."""
    found = list(last_looks(shelf()))
    if len(found) == 1:
        return found[0]
    if not found:
        raise click.UsageError(f"there is no tape in {shelf()}; strawboss has not looked at any launcher yet")
    newest = sorted(found, key=lambda one: one.looked_at, reverse=True)[:5]
    raise click.UsageError(
        f"there are tapes of {len(found)} launchers; choose one with --session, the newest are "
        + ", ".join(_named(one) for one in newest)
    )
