"""Registers the extensions with pi and tells them which Python to start: pi knows none, and they must not guess."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from strawboss.pi.command import Package, Pi, PiError, agent_directory
from strawboss.system.files import write_atomically

EXTENSION = Path(__file__).resolve().parent / "extension"
EXTENSION_NAME = "strawboss-extension"
# Its own package: a worker's heartbeats and /heartbeat do not need the process, nor it them.
HEARTBEAT = Path(__file__).resolve().parents[1] / "heartbeat" / "pi"
HEARTBEAT_NAME = "strawboss-heartbeat"
EXTENSIONS = (EXTENSION, HEARTBEAT)
PYTHON_FILE = "strawboss.json"


class Interpreter(msgspec.Struct, frozen=True):
    """`<agent directory>/strawboss.json`, read by the extension."""

    python: str


def install(pi: Pi, environment: Mapping[str, str], python: str) -> list[str]:
    """Make pi load the extension of this package with this Python; what was done, line by line. Raises PiError."""
    done = [f"removed {old.source} from pi (another strawboss)" for old in _remove(pi, _others(pi))]
    for extension in EXTENSIONS:
        pi.install(extension)
    if missing := _missing(pi.packages()):
        raise PiError(
            f"pi does not list {missing[0]} after `pi install`; run `pi list` and `strawboss doctor`"
        )
    file = python_file(environment)
    try:
        write_atomically(file, msgspec.json.encode(Interpreter(python)) + b"\n")
    except OSError as error:
        raise PiError(f"{file} cannot be written ({error.strerror}); check its permissions") from error
    registrations = [f"registered {extension} with pi" for extension in EXTENSIONS]
    return [*done, *registrations, f"they start {python} (written to {file})"]


def uninstall(pi: Pi, environment: Mapping[str, str]) -> list[str]:
    """Undo `install`; what was done. Nothing to undo is no error. Raises PiError."""
    packages = [package for package in pi.packages() if _is_ours(package) or _is_another(package)]
    done = [f"removed {old.source} from pi" for old in _remove(pi, packages)]
    file = python_file(environment)
    try:
        file.unlink()
    except FileNotFoundError:
        return done
    except OSError as error:
        raise PiError(f"{file} cannot be removed ({error.strerror})") from error
    return [*done, f"removed {file}"]


def registered(packages: tuple[Package, ...]) -> bool:
    """Whether pi loads all of it."""
    return not _missing(packages)


def _missing(packages: tuple[Package, ...]) -> list[Path]:
    paths = {package.path.resolve() for package in packages}
    return [extension for extension in EXTENSIONS if extension not in paths]


def python_file(environment: Mapping[str, str]) -> Path:
    return agent_directory(environment) / PYTHON_FILE


def read_python(environment: Mapping[str, str]) -> str | None:
    """The Python that the extension starts; None when the file is not there or says nothing."""
    try:
        return msgspec.json.decode(python_file(environment).read_bytes(), type=Interpreter).python
    except (OSError, msgspec.DecodeError):
        return None


def _remove(pi: Pi, packages: list[Package]) -> list[Package]:
    for package in packages:
        pi.remove(package)
    return packages


def _others(pi: Pi) -> list[Package]:
    """Of an older or moved installation: two would each start a process."""
    return [package for package in pi.packages() if _is_another(package) and not _is_ours(package)]


def _is_ours(package: Package) -> bool:
    return package.path.resolve() in EXTENSIONS


def _is_another(package: Package) -> bool:
    """By its own name, or, gone from the disk, by the end of its path."""
    source = package.source.replace("\\", "/")
    return package.name in (EXTENSION_NAME, HEARTBEAT_NAME) or source.endswith(
        ("strawboss/pi/extension", "strawboss/heartbeat/pi")
    )
