"""Python, pi and what pi loads."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from strawboss.doctor.finding import INSTALL, Finding, Health, Patient
from strawboss.pi import installation
from strawboss.pi.command import PiError, version_numbers
from strawboss.pi.wrapper import stays_in_front
from strawboss.recovery.verdict import Unknown

OLDEST_PI = (1, 2, 0)
TRIED_PI = (1, 6, 0)  # the tests run this one
REGISTRY_WORDS = ("pi-subagents/runtime", "runningSubagents")
SOURCE_LIMIT = 2 * 1024 * 1024
PYTHON_SECONDS = 20.0


def python(patient: Patient) -> Finding:
    named = patient.environment.get("STRAWBOSS_PYTHON") or installation.read_python(patient.environment)
    if named is None:
        file = installation.python_file(patient.environment)
        return Finding("python", Health.FIX, f"{file} names no Python", INSTALL)
    try:
        done = subprocess.run(
            [named, "-P", "-m", "strawboss", "--version"],
            capture_output=True,
            timeout=PYTHON_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("python", Health.FIX, f"{named} does not run ({error})", INSTALL)
    if done.returncode != 0:
        return Finding("python", Health.FIX, f"{named} has no strawboss", INSTALL)
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("python", Health.OK, f"pi starts {named} (this is Python {version})")


def pi_version(patient: Patient) -> Finding:
    if isinstance(patient.pi, PiError):
        return Finding(
            "pi", Health.FIX, str(patient.pi), "make `pi` runnable; what depends on it is not looked at"
        )
    try:
        version = patient.pi.version()
    except PiError as error:
        return Finding("pi", Health.FIX, str(error), "make `pi` runnable")
    numbers = version_numbers(version)
    if isinstance(numbers, Unknown):
        return Finding("pi", Health.NOTE, f"{numbers.why}; {_tried()}")
    if numbers < OLDEST_PI:
        return Finding(
            "pi", Health.FIX, f"pi {version} is too old", f"update pi to {_dotted(TRIED_PI)} or newer"
        )
    untried = "" if numbers[:2] == TRIED_PI[:2] else f" ({_tried()})"
    return Finding("pi", Health.NOTE if untried else Health.OK, f"pi {version}{untried}")


def _tried() -> str:
    return f"strawboss was tried with {_dotted(TRIED_PI)}"


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def shim(patient: Patient) -> Finding:
    """With two pis in the foreground of a pane it can never be told which one is the run."""
    if isinstance(patient.pi, PiError):
        return Finding("pi command", Health.FIX, str(patient.pi), "make `pi` runnable")
    path = Path(patient.pi.path)
    try:
        staying = stays_in_front(path)
    except OSError as error:
        return Finding("pi command", Health.NOTE, f"{path} cannot be read ({error.strerror})")
    if not staying:
        return Finding("pi command", Health.OK, f"{path} leaves one pi in the foreground")
    text = f"{path} is {staying}: a second process stays in every pane, so nothing will be done there"
    return Finding("pi command", Health.FIX, text, "put the directory of the real pi first on PATH")


def extension(patient: Patient) -> Finding:
    if patient.packages is None:
        return Finding("extension", Health.FIX, "pi cannot be asked for its packages", "make `pi` runnable")
    if installation.registered(patient.packages):
        return Finding("extension", Health.OK, f"pi loads {installation.EXTENSION}")
    return Finding("extension", Health.FIX, "pi does not load strawboss", INSTALL)


def registry(patient: Patient) -> Finding:
    """The Map itself exists only inside a running pi; what the package's source says of it is the next best."""
    package = patient.package("pi-herdr-agents")
    if package is None:
        return Finding(
            "pi-herdr-agents",
            Health.FIX,
            "pi does not load it",
            "run `pi install npm:pi-herdr-agents`",
        )
    if _source_names(package.path, REGISTRY_WORDS):
        told = f"{package.version} keeps its registry where it is read (judged from its source; /strawboss in pi tells)"
        return Finding("pi-herdr-agents", Health.OK, told)
    return Finding(
        "pi-herdr-agents",
        Health.FIX,
        f"{package.version} does not keep runningSubagents (judged from its source), so nothing will be done",
        "use a version that does, 1.3.0 for example",
    )


def _source_names(directory: Path, words: Iterable[str]) -> bool:
    missing = set(words)
    for file in _sources(directory):
        text = file.read_text(errors="replace")
        missing -= {word for word in missing if word in text}
        if not missing:
            return True
    return False


def _sources(directory: Path) -> Iterable[Path]:
    for folder, folders, names in os.walk(directory):
        folders[:] = [name for name in folders if name not in {"node_modules", ".git"}]
        for name in names:
            file = Path(folder, name)
            if file.suffix in {".ts", ".js", ".mjs"} and file.stat().st_size <= SOURCE_LIMIT:
                yield file
