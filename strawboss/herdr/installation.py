"""Links the plugin with herdr: a copy of `plugin/`, in which this version and the Python to start are written down."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from strawboss.herdr.command import HerdrCommand, HerdrCommandError
from strawboss.system.directories import state_directory
from strawboss.system.files import make_private_directory, write_atomically

PLUGIN = "strawboss"
OLDEST = (0, 8, 0)  # the first whose plugins have startup commands and popups
MANIFEST = "herdr-plugin.toml"
TEMPLATE = Path(__file__).resolve().parent / "plugin" / MANIFEST


def plugin_directory() -> Path:
    return state_directory() / "herdr-plugin"


def install(environment: Mapping[str, str], directory: Path, python: str) -> list[str]:
    """Write the plugin into `directory` and link it; what was done, or why herdr is left as it is.

    Raises HerdrCommandError.
    """
    try:
        herdr = HerdrCommand(environment)
    except HerdrCommandError as missing:
        return [f"{missing}, so no plugin was linked there"]
    version = herdr.version()
    if version < OLDEST:
        return [f"herdr {dotted(version)} is older than {dotted(OLDEST)}, so no plugin was linked there"]
    _write(directory, python)
    herdr.link(directory)
    return [f"linked {directory} with herdr {dotted(version)}"]


def uninstall(environment: Mapping[str, str], directory: Path) -> list[str]:
    """Undo `install`; what was done. Nothing to undo is no error. Raises HerdrCommandError."""
    done = ["took the plugin out of herdr"] if _forget(environment) else []
    if not directory.is_dir():
        return done
    try:
        shutil.rmtree(directory)
    except OSError as error:
        raise HerdrCommandError(f"{directory} cannot be removed ({error.strerror})") from error
    return [*done, f"removed {directory}"]


def manifest(python: str) -> str:
    """What herdr is given. A JSON string is a TOML string."""
    text = TEMPLATE.read_text(encoding="utf-8")
    for word, value in (("python", python), ("version", metadata.version("strawboss"))):
        text = text.replace(f'"@{word}@"', json.dumps(value))
    return text


def is_current(directory: Path, python: str) -> bool:
    """Whether `directory` holds what `install` would write there."""
    try:
        return (directory / MANIFEST).read_text(encoding="utf-8") == manifest(python)
    except (OSError, UnicodeDecodeError):
        return False


def _write(directory: Path, python: str) -> None:
    file = directory / MANIFEST
    try:
        make_private_directory(directory)
        write_atomically(file, manifest(python).encode())
    except OSError as error:
        raise HerdrCommandError(f"{file} cannot be written ({error.strerror})") from error


def _forget(environment: Mapping[str, str]) -> bool:
    """Whether there is a herdr, and had the plugin."""
    try:
        herdr = HerdrCommand(environment)
    except HerdrCommandError:
        return False
    if herdr.version() < OLDEST or herdr.plugin(PLUGIN) is None:
        return False
    herdr.forget(PLUGIN)
    return True


def dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
