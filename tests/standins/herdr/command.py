"""The `herdr` command, as far as pi extensions and tests call it. Light: it is run every second for every child."""

# pathlib would double its start-up time, and printing is what it does:
# ruff: noqa: PTH100, PTH103, PTH110, PTH112, PTH118, PTH120, PTH123, T201

from __future__ import annotations

import json
import os
import socket
import sys
import time
from typing import Any, NoReturn

VERSION, PROTOCOL = "0.8.0", 20
HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(os.path.dirname(HERE))
STOP_SECONDS = 15.0
INTEGRATION = "herdr-agent-state.ts"

# (group, command): method, positional parameters, options with a value, flags. `keys*` takes all that is left.
OPENING = {"--cwd": "cwd", "--label": "label"}
FOCUS = {"--focus": ("focus", True), "--no-focus": ("focus", False)}
WORKSPACE = {"--workspace": "workspace_id"}
JSON = {"--json": ("json", True)}
COMMANDS: dict[tuple[str, str], tuple[str, list[str], dict[str, str], dict[str, tuple[str, Any]]]] = {
    ("pane", "list"): ("pane.list", [], WORKSPACE, {}),
    ("pane", "get"): ("pane.get", ["pane_id"], {}, {}),
    ("pane", "current"): ("pane.current", [], {"--pane": "caller_pane_id"}, {"--current": ("current", True)}),
    ("pane", "close"): ("pane.close", ["pane_id"], {}, {}),
    ("pane", "focus"): ("pane.focus", ["pane_id"], {}, {}),
    ("pane", "rename"): ("pane.rename", ["pane_id", "label"], {}, {}),
    ("pane", "split"): ("pane.split", ["target_pane_id"], OPENING | {"--direction": "direction"}, FOCUS),
    ("pane", "process-info"): (
        "pane.process_info",
        [],
        {"--pane": "pane_id"},
        {"--current": ("current", True)},
    ),
    ("pane", "read"): (
        "pane.read",
        ["pane_id"],
        {"--source": "source", "--lines": "lines", "--format": "format"},
        {},
    ),
    ("pane", "run"): ("pane.send_input", ["pane_id", "text"], {}, {}),
    ("pane", "send-text"): ("pane.send_text", ["pane_id", "text"], {}, {}),
    ("pane", "send-keys"): ("pane.send_keys", ["pane_id", "keys*"], {}, {}),
    ("tab", "create"): ("tab.create", [], OPENING | WORKSPACE, FOCUS),
    ("tab", "list"): ("tab.list", [], WORKSPACE, {}),
    ("tab", "get"): ("tab.get", ["tab_id"], {}, {}),
    ("tab", "focus"): ("tab.focus", ["tab_id"], {}, {}),
    ("tab", "rename"): ("tab.rename", ["tab_id", "label"], {}, {}),
    ("tab", "close"): ("tab.close", ["tab_id"], {}, {}),
    ("workspace", "create"): ("workspace.create", [], OPENING, FOCUS),
    ("workspace", "list"): ("workspace.list", [], {}, {}),
    ("workspace", "get"): ("workspace.get", ["workspace_id"], {}, {}),
    ("workspace", "focus"): ("workspace.focus", ["workspace_id"], {}, {}),
    ("workspace", "rename"): ("workspace.rename", ["workspace_id", "label"], {}, {}),
    ("workspace", "close"): ("workspace.close", ["workspace_id"], {}, {}),
    ("worktree", "list"): ("worktree.list", [], WORKSPACE | {"--cwd": "cwd"}, JSON),
    ("worktree", "create"): (
        "worktree.create",
        [],
        OPENING | WORKSPACE | {"--branch": "branch", "--base": "base", "--path": "path"},
        FOCUS | JSON,
    ),
    ("worktree", "remove"): ("worktree.remove", [], WORKSPACE, {"--force": ("force", True)} | JSON),
    ("agent", "list"): ("agent.list", [], {}, {}),
    ("agent", "get"): ("agent.get", ["target"], {}, {}),
    ("api", "snapshot"): ("session.snapshot", [], {}, {}),
}
SILENT = {("pane", "run"), ("pane", "send-text"), ("pane", "send-keys")}


class UsageError(Exception):
    pass


def main(argv: list[str]) -> int:
    words = argv[1:]
    try:
        if words in (["--version"], ["-V"]):
            print(f"herdr {VERSION}")
            return 0
        if words[:1] and words[0] in OWN:
            return OWN[words[0]](words[1:], argv[0])
        group, name, *_ = [*words, "", ""]
        return ask((group, name), words[2:])
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def ask(command: tuple[str, str], words: list[str]) -> int:
    if command not in COMMANDS:
        raise UsageError(f"unknown command: {' '.join(command)}")
    name = "cli:" + ":".join(command).replace("-", "_")
    params = parameters(command, words)
    check_protocol(name)
    return show(command, exchange(name, COMMANDS[command][0], params))


def parameters(command: tuple[str, str], words: list[str]) -> dict[str, Any]:
    """Raises UsageError."""
    _, positional, options, flags = COMMANDS[command]
    params: dict[str, Any] = {}
    free: list[str] = []
    left = iter(words)
    for word in left:
        if word in options:
            params[options[word]] = next(left, None)
        elif word in flags:
            params[flags[word][0]] = flags[word][1]
        elif word.startswith("--"):
            raise UsageError(f"unexpected argument {word}")
        else:
            free.append(word)
    return adjusted(command, params | placed(positional, free))


def placed(positional: list[str], free: list[str]) -> dict[str, Any]:
    if positional[-1:] and positional[-1].endswith("*"):
        head = positional[:-1]
        if len(free) > len(head):
            return dict(zip(head, free, strict=False)) | {positional[-1][:-1]: free[len(head) :]}
    elif len(free) == len(positional):
        return dict(zip(positional, free, strict=True))
    raise UsageError(f"expected {' '.join(positional) or 'no arguments'}, got {' '.join(free) or 'none'}")


def adjusted(command: tuple[str, str], params: dict[str, Any]) -> dict[str, Any]:
    params.pop("json", None)
    if params.pop("current", False) and "HERDR_PANE_ID" in os.environ:
        params["pane_id" if command[1] == "process-info" else "caller_pane_id"] = os.environ["HERDR_PANE_ID"]
    if command == ("pane", "run"):
        params["keys"] = ["Enter"]
    if command == ("pane", "read"):
        params.setdefault("source", "recent")
    if "lines" in params:
        params["lines"] = number(params["lines"])
    return params


def number(text: str | None) -> int:
    if text is None or not text.isdigit():
        raise UsageError(f"expected a number, got {text}")
    return int(text)


def show(command: tuple[str, str], reply: dict[str, Any]) -> int:
    if "error" in reply:
        print(compact(reply), file=sys.stderr)
        return 1
    if command == ("pane", "read"):
        print(reply["result"]["read"]["text"])
    elif command not in SILENT:
        print(compact(reply))
    return 0


def compact(message: dict[str, Any]) -> str:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def check_protocol(name: str) -> None:
    protocol = exchange(name, "ping", {}).get("result", {}).get("protocol")
    if protocol != PROTOCOL:
        fail(name, "protocol_mismatch", f"server speaks protocol {protocol}, this herdr {PROTOCOL}")


def exchange(name: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
    try:
        line = raw_exchange({"id": name, "method": method, "params": params})
    except (FileNotFoundError, ConnectionRefusedError):
        fail(
            name,
            "server_not_running",
            f"no herdr server is running at {socket_path()}; start it with `herdr`",
        )
    except OSError as error:
        sys.exit(f"Error: {error}")
    reply: dict[str, Any] = json.loads(line)
    return reply


def raw_exchange(request: dict[str, Any]) -> bytes:
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(socket_path())
        peer.sendall(json.dumps(request).encode() + b"\n")
        with peer.makefile("rb") as answer:
            line = answer.readline()
    if not line.endswith(b"\n"):
        raise OSError("the server hung up")
    return line


def fail(name: str, code: str, message: str) -> NoReturn:
    print(compact({"id": name, "error": {"code": code, "message": message}}), file=sys.stderr)
    sys.exit(1)


def data_directory() -> str:
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.environ.get("HOME", "/tmp"), ".config")
    return os.path.join(base, "herdr")


def socket_path() -> str:
    return os.environ.get("HERDR_SOCKET_PATH") or os.path.join(data_directory(), "herdr.sock")


def running() -> dict[str, Any] | None:
    try:
        reply: dict[str, Any] = json.loads(raw_exchange({"id": "cli:status", "method": "ping", "params": {}}))
    except OSError:
        return None
    pong: dict[str, Any] = reply["result"]
    return pong


def server(words: list[str], program: str) -> int:
    if words == ["stop"]:
        return stop()
    if words:
        raise UsageError(f"unexpected argument {words[0]}")
    sys.path.insert(0, TESTS)
    from standins.herdr.server import main as serve

    serve(socket_path(), data_directory(), os.path.abspath(program))
    return 0


def stop() -> int:
    if running() is None:
        print(f"no herdr server is running at {socket_path()}", file=sys.stderr)
        return 1
    raw_exchange({"id": "cli:server:stop", "method": "server.stop", "params": {}})
    deadline = time.monotonic() + STOP_SECONDS
    while running() is not None:
        if time.monotonic() >= deadline:
            print("the herdr server does not stop", file=sys.stderr)
            return 1
        time.sleep(0.02)
    return 0


def status(words: list[str], program: str) -> int:
    pong = running()
    live = {"version": pong["version"], "protocol": pong["protocol"]} if pong else {}
    told: dict[str, Any] = {
        "status": "running" if pong else "not_running",
        "running": pong is not None,
        **live,
        "socket": socket_path(),
        "session": "default",
        "restart_needed": False,
    }
    client = {
        "version": VERSION,
        "channel": "stable",
        "protocol": PROTOCOL,
        "binary": program,
        "session": "default",
    }
    if words[:1] == ["server"]:
        print(compact(told) if "--json" in words else told["status"])
    else:
        print(compact({"client": client, "server": told}) if "--json" in words else told["status"])
    return 0


def integration(words: list[str], program: str) -> int:
    agent = os.environ.get("PI_CODING_AGENT_DIR") or os.path.join(os.environ.get("HOME", "/"), ".pi", "agent")
    installed = os.path.join(agent, "extensions", INTEGRATION)
    if words == ["install", "pi"]:
        if not os.path.isdir(agent):
            print(f"error: {agent} does not exist", file=sys.stderr)
            return 1
        os.makedirs(os.path.dirname(installed), exist_ok=True)
        with open(os.path.join(HERE, INTEGRATION)) as source, open(installed, "w") as target:
            target.write(source.read())
        print(f"installed pi integration to {installed}")
    elif words == ["status"]:
        print(f"pi: current (v8) ({installed})" if os.path.exists(installed) else "pi: not installed")
    else:
        raise UsageError(f"unexpected argument {' '.join(words)}")
    return 0


def plugin(words: list[str], program: str) -> int:
    """`link`, `list` and `uninstall` work without a server too, on the same registry."""
    sys.path.insert(0, TESTS)
    from pathlib import Path

    from standins.herdr.lookup import RefusedError
    from standins.herdr.plugins import Registry

    registry = Registry(Path(data_directory()))
    try:
        if words[:1] == ["link"] and len(words) == 2:
            return told({"type": "plugin_linked", "plugin": registry.link(Path(os.path.abspath(words[1])))})
        if words[:1] == ["list"]:
            return told({"type": "plugin_list", "plugins": listed(registry, words[1:])})
        if words[:1] == ["uninstall"] and len(words) == 2:
            return uninstalled(registry.unlink(words[1]), words[1])
    except RefusedError as error:
        fail("cli:plugin", error.code, error.message)
    raise UsageError(f"unexpected argument {' '.join(words)}")


def listed(registry: Any, words: list[str]) -> list[dict[str, Any]]:
    wanted = words[words.index("--plugin") + 1] if "--plugin" in words else None
    return [one for one in registry.all() if wanted in (None, one["plugin_id"])]


def told(result: dict[str, Any]) -> int:
    print(compact({"id": "cli:plugin", "result": result}))
    return 0


def uninstalled(removed: bool, plugin_id: str) -> int:
    if removed:
        print(f"Uninstalled {plugin_id}.")
    else:
        print(f"plugin not installed: {plugin_id}", file=sys.stderr)
    return 0 if removed else 1


OWN = {"server": server, "status": status, "integration": integration, "plugin": plugin}
