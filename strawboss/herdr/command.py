"""The `herdr` command, for what goes around a running server: its version and its plugins."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import msgspec

from strawboss.system.printable import printable

SECONDS = 20.0
VERSION = re.compile(r"herdr (\d+)\.(\d+)\.(\d+)")


class Plugin(msgspec.Struct, frozen=True):
    """A plugin that herdr knows; `plugin_root` is the directory it was linked from."""

    plugin_id: str
    plugin_root: str
    version: str
    enabled: bool


class _Plugins(msgspec.Struct, frozen=True, tag_field="type", tag="plugin_list"):
    plugins: tuple[Plugin, ...]


class _Reply(msgspec.Struct, frozen=True):
    result: _Plugins


class HerdrCommandError(Exception):
    """`herdr` is not there or could not do it; one line says why."""


class HerdrCommand:
    """The one that started this pane (`HERDR_BIN_PATH`), else the one on PATH. Raises HerdrCommandError without one."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        found = environment.get("HERDR_BIN_PATH") or shutil.which("herdr", path=environment.get("PATH"))
        if not found:
            raise HerdrCommandError("herdr is not on PATH")
        self.path, self._environment = found, dict(environment)

    def version(self) -> tuple[int, int, int]:
        words = self._run("--version")
        numbers = VERSION.match(words)
        if not numbers:
            raise HerdrCommandError(
                f"{self.path} says {printable(words.strip())[:40]!r}, which is no version"
            )
        major, minor, patch = map(int, numbers.groups())
        return major, minor, patch

    def plugin(self, plugin_id: str) -> Plugin | None:
        told = self._run("plugin", "list", "--plugin", plugin_id, "--json")
        try:
            plugins = msgspec.json.decode(told, type=_Reply).result.plugins
        except msgspec.DecodeError as error:
            raise HerdrCommandError(f"herdr's list of plugins cannot be read: {error}") from error
        return next((plugin for plugin in plugins if plugin.plugin_id == plugin_id), None)

    def link(self, directory: Path) -> None:
        """Register the plugin in `directory`, in place of another with its id; needs no running server."""
        self._run("plugin", "link", str(directory))

    def forget(self, plugin_id: str) -> None:
        """`unlink` would need a running server. A linked directory stays where it is."""
        self._run("plugin", "uninstall", plugin_id)

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
            raise HerdrCommandError(f"{self.path} did not run: {printable(str(error))}") from error
        if done.returncode != 0:
            words = (
                printable(done.stderr.strip() or done.stdout.strip())[:300] or f"exit code {done.returncode}"
            )
            raise HerdrCommandError(f"`herdr {' '.join(arguments)}` failed: {words}")
        return done.stdout
