"""What a check looks at, and what it finds."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from strawboss.config import Config, state_directory
from strawboss.pi.command import Package, Pi, PiError

INSTALL = "run `strawboss install`"


class Health(Enum):
    OK = "ok"
    NOTE = "note"  # may well be as it should
    FIX = "fix"


@dataclass(frozen=True, slots=True)
class Finding:
    """`text` says what was found; `fix` what to do, empty when nothing needs to be done."""

    subject: str
    health: Health
    text: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Patient:
    """What the checks look at. `packages` is None when pi could not be asked."""

    environment: Mapping[str, str]
    config: Config
    pi: Pi | PiError
    packages: tuple[Package, ...] | None = None
    extensions: tuple[Package, ...] = ()
    cwd: str = field(default_factory=os.getcwd)

    @property
    def state(self) -> Path:
        return state_directory(self.config, self.environment)

    def package(self, name: str) -> Package | None:
        return next(
            (package for package in (*(self.packages or ()), *self.extensions) if package.name == name), None
        )
