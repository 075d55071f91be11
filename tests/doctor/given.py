"""What the doctor is shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from strawboss.doctor.finding import Patient
from strawboss.pi.command import Package

Make = Callable[..., Patient]


def package(directory: Path, name: str, source: str = "") -> Package:
    directory.mkdir(parents=True)
    (directory / "index.ts").write_text(source)
    return Package(str(directory), directory, name, "1.3.0")
