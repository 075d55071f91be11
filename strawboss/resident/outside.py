"""One look at a launcher's session from outside pi: nothing is done, and nobody is asked who only pi could be."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import msgspec

from strawboss.config import Config
from strawboss.machine import ProcessList
from strawboss.pi.protocol import PROTOCOL, Registry, Started
from strawboss.recovery.evidence import Launcher
from strawboss.recovery.memory import Look, Memory
from strawboss.recovery.observing import take_look
from strawboss.recovery.verdict import Unknown
from strawboss.resident.connections import herdr_of, intercom_of
from strawboss.resident.effects import Effects, Panes, Peers
from strawboss.resident.launcher import artifacts_directory, disk_of, launcher_of
from strawboss.runs.disk import Disk
from strawboss.runs.header import read_header
from strawboss.tape.drive import drive
from strawboss.tape.lines import kept_clock

T = TypeVar("T")

NO_EXTENSION = Unknown("nobody in pi is asked")
REGISTRY_UNKNOWN = (
    "which runs its registry tracks cannot be asked from outside; they are shown as if it tracked none"
)


class NotASessionError(Exception):
    """Why the file is no launcher's session, in one line."""


@dataclass(frozen=True, slots=True)
class OutsideLook:
    launcher: Launcher
    look: Look
    notices: tuple[str, ...]


class NoExtension:
    """In the place of the line to the extension: its registry counts as empty, and notices are only kept."""

    def __init__(self) -> None:
        self.notices: list[str] = []

    def ask(
        self, method: str, params: Mapping[str, object], shape: type[T], seconds: float = 0.0
    ) -> T | Unknown:
        del seconds
        if method == "ui.notify":
            self.notices.append(str(params["text"]))
        return msgspec.convert({"readable": True}, shape) if shape is Registry else NO_EXTENSION

    def wait(self, seconds: float, enough: Callable[[], bool] = lambda: False) -> None:
        """Nothing is under way that could be waited for."""


def look_from_outside(file: Path, config: Config, environment: Mapping[str, str]) -> OutsideLook:
    """Raises NotASessionError."""
    started = started_of(file)
    try:
        launcher = replace(launcher_of(started, config, sys.platform), pid=None)
        disk = disk_of(launcher, artifacts_directory(started, launcher.file))
    except OSError as error:
        raise NotASessionError(f"{file}: cannot be looked for ({error.strerror})") from error
    herdr = herdr_of(launcher, config, environment)
    return look_on(launcher, disk, herdr, intercom_of(launcher, config, environment), config)


def look_on(launcher: Launcher, disk: Disk, herdr: Panes, intercom: Peers, config: Config) -> OutsideLook:
    """A first look, of which nothing is remembered."""
    extension = NoExtension()
    machine, told = ProcessList(), frozenset[str]()
    effects = Effects(extension, disk, herdr, intercom, machine, told, lambda _, __: None)
    settings = replace(config.settings, observe=True)
    steps = take_look(launcher, settings, Memory(), kept_clock(time.time(), time.monotonic()))
    look = drive(steps, effects.answer)
    return OutsideLook(launcher, look, tuple(extension.notices))


def started_of(file: Path) -> Started:
    """As the extension would say it of that session, as far as its header does. Raises NotASessionError."""
    try:
        with file.open("rb", buffering=0) as opened:
            header = read_header(opened)
    except OSError as error:
        raise NotASessionError(f"{file}: {error.strerror}") from error
    if isinstance(header, Unknown):
        raise NotASessionError(f"{file}: no session of pi: it {header.why}")
    return Started(
        PROTOCOL,
        header.id,
        file=str(file.absolute()),
        dir=str(file.absolute().parent),
        cwd=header.cwd or str(file.absolute().parent),
    )
