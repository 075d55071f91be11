"""Plugins as herdr keeps them: linked directories in `plugins.json`, what their manifests declare, and what they run.

Only what strawboss's own plugin has is known here: startup commands, actions and panes.
"""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from standins.herdr.command import VERSION
from standins.herdr.lookup import RefusedError
from standins.herdr.terminal import Terminal

MANIFEST = "herdr-plugin.toml"
DECLARED = ("description", "platforms", "startup", "actions", "panes")
TOAST_SECONDS = 3.0
ENDED = {True: "succeeded", False: "failed"}


class Registry:
    """The user's plugins, whether a server runs or not."""

    def __init__(self, data: Path) -> None:
        self._file = data / "plugins.json"

    def all(self) -> list[dict[str, Any]]:
        """By id; a directory whose manifest is gone is not there."""
        entries = json.loads(self._file.read_text()) if self._file.exists() else []
        return [read_manifest(Path(entry)) for entry in entries if (Path(entry) / MANIFEST).exists()]

    def link(self, directory: Path) -> dict[str, Any]:
        """In place of another with its id; raises RefusedError."""
        plugin = read_manifest(directory)
        self._save([*self._others(plugin["plugin_id"]), plugin])
        return plugin

    def unlink(self, plugin_id: str) -> bool:
        """Whether it was there."""
        there = self.all()
        self._save(self._others(plugin_id))
        return len(self.all()) < len(there)

    def get(self, plugin_id: str) -> dict[str, Any]:
        for plugin in self.all():
            if plugin["plugin_id"] == plugin_id:
                return plugin
        raise RefusedError("plugin_not_found", "plugin not found")

    def _others(self, plugin_id: str) -> list[dict[str, Any]]:
        return [plugin for plugin in self.all() if plugin["plugin_id"] != plugin_id]

    def _save(self, plugins: list[dict[str, Any]]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        ordered = sorted(plugins, key=lambda plugin: str(plugin["plugin_id"]))
        self._file.write_text(json.dumps([plugin["plugin_root"] for plugin in ordered]))


def read_manifest(directory: Path) -> dict[str, Any]:
    """The plugin as herdr describes it; raises RefusedError."""
    try:
        written = tomllib.loads((directory / MANIFEST).read_text())
    except OSError as error:
        raise RefusedError(
            "plugin_manifest_not_found", f"{error.strerror} (os error {error.errno})"
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise RefusedError("plugin_manifest_parse_failed", str(error)) from error
    required = {name: written[name] for name in ("name", "version", "min_herdr_version")}
    if _numbers(required["min_herdr_version"]) > _numbers(VERSION):
        raise RefusedError(
            "plugin_requires_newer_herdr",
            f"plugin requires Herdr {required['min_herdr_version']} or newer; current Herdr is {VERSION}",
        )
    return {
        "plugin_id": written["id"],
        **required,
        **{name: written[name] for name in DECLARED if name in written},
        "manifest_path": str(directory / MANIFEST),
        "plugin_root": str(directory),
        "enabled": True,
        "source": {"kind": "local"},
    }


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")]


@dataclass
class Running:
    """What plugins do under one server. `environment`: what their commands are told of this herdr."""

    registry: Registry
    environment: Mapping[str, str]
    popup: Terminal | None = None
    toast_until: float = 0.0
    _logs: list[dict[str, Any]] = field(default_factory=list)
    _processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self) -> None:
        """The startup command of every plugin; nobody waits for them."""
        for plugin in self.registry.all():
            for startup in plugin.get("startup", []):
                self.run(plugin, startup["command"], {"HERDR_PLUGIN_EVENT": "startup"}, event="startup")

    def run(
        self, plugin: dict[str, Any], command: list[str], told: dict[str, str], **about: str
    ) -> dict[str, Any]:
        """Start one command of a plugin: its entry in the log."""
        log = {"log_id": f"plugin-log-{len(self._logs) + 1}", "plugin_id": plugin["plugin_id"], **about}
        self._logs.append({**log, "command": command, "status": "running", "started_unix_ms": 0})
        self._processes[log["log_id"]] = subprocess.Popen(
            command,
            cwd=plugin["plugin_root"],
            env=self.told(plugin, told),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        return self._logs[-1]

    def told(self, plugin: dict[str, Any], more: dict[str, str]) -> dict[str, str]:
        own = {
            "HERDR_ENV": "1",
            "HERDR_PLUGIN_ID": plugin["plugin_id"],
            "HERDR_PLUGIN_ROOT": plugin["plugin_root"],
        }
        return {**os.environ, **self.environment, **own, **more}

    def logs(self) -> list[dict[str, Any]]:
        for log in self._logs:
            process = self._processes.get(log["log_id"])
            if process and process.poll() is not None:
                del self._processes[log["log_id"]]
                output, errors = (text.decode() for text in process.communicate())
                log |= {"status": ENDED[process.returncode == 0], "exit_code": process.returncode}
                log |= {"stdout": output, "stderr": errors, "finished_unix_ms": 0}
        return self._logs

    def tick(self) -> None:
        if self.popup and (self.popup.died() or not self.popup.read()):
            self.close_popup()

    def open_popup(self, cwd: str, environment: dict[str, str], command: list[str]) -> None:
        self.popup = Terminal(cwd, environment, command)

    def close_popup(self) -> None:
        if self.popup:
            self.popup.close()
        self.popup = None
