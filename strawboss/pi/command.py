"""The `pi` command and the agent directory: what is registered with pi, and where. pi writes its settings itself."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from strawboss.recovery.verdict import Unknown
from strawboss.system.printable import printable

SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Package:
    """A package in pi's settings: `source` as pi keeps it, `path` where it lies or should, and its own name and version.

    A source that is no path and has not been fetched has the empty path.
    """

    source: str
    path: Path
    name: str = ""
    version: str = ""


class Manifest(msgspec.Struct, frozen=True):
    name: str = ""
    version: str = ""


class Settings(msgspec.Struct, frozen=True):
    """Of pi's `settings.json`, the one member read here."""

    extensions: list[object] = []


class PiError(Exception):
    """`pi` could not do it; one line says why."""


class Pi:
    """The command found on `environment`'s PATH; raises PiError when there is none."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        found = shutil.which("pi", path=environment.get("PATH"))
        if found is None:
            raise PiError("pi is not on PATH; install it (npm install -g @earendil-works/pi-coding-agent)")
        self.path, self._environment = found, dict(environment)

    def version(self) -> str:
        return self._run("--version").strip()

    def install(self, directory: Path) -> None:
        self._run("install", str(directory))

    def remove(self, package: Package) -> None:
        """By its absolute path: `pi remove` takes a relative one from the current directory."""
        self._run("remove", package.source if package.path == Path() else str(package.path))

    def packages(self) -> tuple[Package, ...]:
        """The user's packages, as `pi list` shows them: a source, and below it, further in, the path it found.

        That makes pi's own directory; where there is none yet, there are no packages.
        """
        if not agent_directory(self._environment).exists():
            return ()
        packages: list[Package] = []
        section = ""
        for line in self._run("list").splitlines():
            if not line.startswith(" "):
                section = line
            elif line.startswith("    ") and packages and section.startswith("User"):
                packages[-1] = read_package(packages[-1].source, Path(line.strip()))
            elif section.startswith("User"):
                packages.append(Package(line.strip(), self._place(line.strip())))
        return tuple(packages)

    def _place(self, source: str) -> Path:
        """Where a package of the disk should lie: pi keeps its path relative to its own directory."""
        local = source.startswith((".", "~")) or Path(source).is_absolute()
        return (
            Path(os.path.normpath(agent_directory(self._environment) / Path(source).expanduser()))
            if local
            else Path()
        )

    def _run(self, *arguments: str) -> str:
        try:
            done = subprocess.run(
                [self.path, *arguments],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PiError(f"{self.path} {arguments[0]} did not run: {printable(str(error))}") from error
        if done.returncode != 0:
            words = (
                printable(done.stderr.strip() or done.stdout.strip())[:300] or f"exit code {done.returncode}"
            )
            raise PiError(f"`pi {' '.join(arguments)}` failed: {words}")
        return done.stdout


def read_package(source: str, path: Path) -> Package:
    try:
        manifest = msgspec.json.decode((path / "package.json").read_bytes(), type=Manifest)
    except (OSError, msgspec.DecodeError):
        return Package(source, path)
    return Package(source, path, manifest.name, manifest.version)


def extension_packages(environment: Mapping[str, str]) -> tuple[Package, ...]:
    """What pi loads beside its packages: the `extensions` of its settings, and those in its own folder."""
    directory = agent_directory(environment)
    try:
        settings = msgspec.json.decode((directory / "settings.json").read_bytes(), type=Settings)
    except (OSError, msgspec.DecodeError):
        settings = Settings()
    listed = [directory / Path(entry).expanduser() for entry in settings.extensions if isinstance(entry, str)]
    found = sorted((directory / "extensions").glob("*"))
    return tuple(read_package(str(path), _root(path)) for path in [*listed, *found])


def _root(path: Path) -> Path:
    """The directory with the manifest, at most three above the extension itself."""
    return next((one for one in [path, *path.parents[:3]] if (one / "package.json").is_file()), path)


def agent_directory(environment: Mapping[str, str]) -> Path:
    """pi's own directory: `PI_CODING_AGENT_DIR`, else `~/.pi/agent`."""
    configured = environment.get("PI_CODING_AGENT_DIR", "").strip()
    return Path(configured).expanduser() if configured else Path.home() / ".pi" / "agent"


def version_numbers(version: str) -> tuple[int, ...] | Unknown:
    numbers = version.strip().lstrip("v").split("-")[0].split(".")
    if not all(number.isdecimal() for number in numbers):
        return Unknown(f"{printable(version)[:40]!r} is no version")
    return tuple(map(int, numbers))
