"""A herdr for tests: a server with real terminals and real processes, and its `herdr` command.

    with HerdrServer(root, env) as herdr:
        pane = herdr.workspace(cwd)
        herdr.run(pane, "pi")
        herdr.wait_for(lambda: herdr.pane(pane)["agent_status"] == "idle")

`root` must be short (a socket lies in it). With `binary` the same calls go to a real herdr, which keeps no log.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
HERE = Path(__file__).resolve().parent
COMMAND = """#!{python} -IS
import sys
sys.path.insert(0, {folder!r})
from command import main
sys.exit(main(sys.argv))
"""
REAL_CONFIG = 'onboarding = false\n[update]\nversion_check = false\nmanifest_check = false\n[ui.toast]\ndelivery = "herdr"\n'
# What would lead a herdr, or what runs in it, out of its own root.
FOREIGN = (
    "HERDR_ENV",
    "HERDR_CLIENT_SOCKET_PATH",
    "HERDR_SESSION",
    "HERDR_PANE_ID",
    "HERDR_TAB_ID",
    "HERDR_WORKSPACE_ID",
)
PATIENCE_SECONDS = 20.0
POLL_SECONDS = 0.02


class HerdrError(Exception):
    """An error reply; `code` as herdr names it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class HerdrServer:
    """`env`: what the server and all its panes start with (default: this process's). Nothing runs before `start`."""

    def __init__(self, root: Path, env: Mapping[str, str] | None = None, binary: Path | None = None) -> None:
        self.root, self._real = root, binary is not None
        self.bin = root / "bin"
        self._data = root / "config" / "herdr"
        self.socket = self._data / "herdr.sock"
        self.env = self._environment(os.environ if env is None else env)
        self._process: subprocess.Popen[bytes] | None = None
        for directory in (self.bin, self._data):
            directory.mkdir(parents=True, exist_ok=True)
        self._install(binary)

    def _environment(self, env: Mapping[str, str]) -> dict[str, str]:
        kept = {name: value for name, value in env.items() if name not in FOREIGN}
        return kept | {
            "PATH": f"{self.bin}{os.pathsep}{env['PATH']}",
            "SHELL": "/bin/bash",
            "XDG_CONFIG_HOME": str(self.root / "config"),
            "HERDR_SOCKET_PATH": str(self.socket),
        }

    def _install(self, binary: Path | None) -> None:
        command = self.bin / "herdr"
        command.unlink(missing_ok=True)
        if binary:
            command.symlink_to(binary.resolve())
            (self._data / "config.toml").write_text(REAL_CONFIG)
        else:
            command.write_text(COMMAND.format(python=sys.executable, folder=str(HERE)))
            command.chmod(0o755)

    def __enter__(self) -> HerdrServer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        """Stop, and end whatever still runs of what the panes started."""
        if self._process:
            self.kill()
        self.sweep()

    def start(self) -> HerdrServer:
        with (self.root / "server.txt").open("ab") as output:
            self._process = subprocess.Popen(
                [self.bin / "herdr", "server"],
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.wait_for(self._answers, what="the server to answer")
        return self

    def stop(self) -> None:
        """Gracefully: the session is saved, the panes are hung up."""
        self.command("server", "stop")
        self._wait_for_end()

    def kill(self) -> None:
        """SIGKILL: what was not saved is lost, the panes are hung up."""
        assert self._process
        self._process.kill()
        self._process.send_signal(signal.SIGCONT)
        self._wait_for_end()

    def restart(self) -> HerdrServer:
        self.stop()
        return self.start()

    def pause(self) -> None:
        """The server hangs: it takes connections and says nothing, until `proceed`."""
        assert self._process
        self._process.send_signal(signal.SIGSTOP)

    def proceed(self) -> None:
        assert self._process
        self._process.send_signal(signal.SIGCONT)

    def _wait_for_end(self) -> None:
        assert self._process
        self._process.wait(PATIENCE_SECONDS)
        self._process = None

    def _answers(self) -> bool:
        if self._process and self._process.poll() is not None:
            raise AssertionError(f"herdr ended at once:\n{(self.root / 'server.txt').read_text()}")
        try:
            self.request("ping")
        except OSError:
            return False
        return True

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """One request over the socket: its result. Raises HerdrError for an error reply, OSError without a reply."""
        with socket.socket(socket.AF_UNIX) as peer:
            peer.settimeout(PATIENCE_SECONDS)
            peer.connect(str(self.socket))
            peer.sendall(json.dumps({"id": "test", "method": method, "params": params}).encode() + b"\n")
            with peer.makefile("rb") as answer:
                line = answer.readline()
        if not line.endswith(b"\n"):
            raise ConnectionResetError("herdr hung up")
        reply = json.loads(line)
        if "error" in reply:
            raise HerdrError(reply["error"]["code"], reply["error"]["message"])
        result: dict[str, Any] = reply["result"]
        return result

    def command(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run the `herdr` command as somebody outside of all panes."""
        call = [str(self.bin / "herdr"), *words]
        return subprocess.run(
            call, env=self.env, capture_output=True, text=True, check=check, timeout=PATIENCE_SECONDS
        )

    def install_integration(self, agent_directory: Path) -> None:
        """What makes pi report to herdr, put into pi's own directory (`~/.pi/agent`)."""
        agent_directory.mkdir(parents=True, exist_ok=True)
        env = self.env | {"PI_CODING_AGENT_DIR": str(agent_directory)}
        subprocess.run(
            [self.bin / "herdr", "integration", "install", "pi"], env=env, check=True, capture_output=True
        )

    def workspace(self, cwd: Path, label: str | None = None) -> str:
        """A new workspace: the id of its pane, where a shell runs in `cwd`."""
        named = {"label": label} if label else {}
        made = self.request("workspace.create", cwd=str(cwd), focus=True, **named)
        return str(made["root_pane"]["pane_id"])

    def run(self, pane_id: str, line: str) -> None:
        """Type the line into the pane, and Enter."""
        self.request("pane.send_input", pane_id=pane_id, text=line, keys=["Enter"])

    def panes(self) -> dict[str, dict[str, Any]]:
        """All panes by id."""
        return {pane["pane_id"]: pane for pane in self.request("pane.list")["panes"]}

    def pane(self, pane_id: str) -> dict[str, Any]:
        pane: dict[str, Any] = self.request("pane.get", pane_id=pane_id)["pane"]
        return pane

    def pane_on(self, session_file: str | Path) -> dict[str, Any] | None:
        """The pane herdr has on this session file."""
        wanted = str(session_file)
        named = (
            pane for pane in self.panes().values() if pane.get("agent_session", {}).get("value") == wanted
        )
        return next(named, None)

    def processes(self, pane_id: str) -> list[dict[str, Any]]:
        """The pane's foreground; nothing while it has no terminal."""
        try:
            info = self.request("pane.process_info", pane_id=pane_id)["process_info"]
        except HerdrError:
            return []
        listed: list[dict[str, Any]] = info.get("foreground_processes", [])
        return listed

    def screen(self, pane_id: str) -> str:
        """What the pane shows."""
        read = self.request("pane.read", pane_id=pane_id, source="recent", lines=200)
        return str(read["read"]["text"])

    @property
    def log(self) -> list[dict[str, Any]]:
        """Every request any server of this root has received: `at`, `id`, `method`, `params`."""
        if self._real:
            raise RuntimeError("a real herdr keeps no log of its requests")
        file = self._data / "requests.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def requests(self, method: str, **params: Any) -> list[dict[str, Any]]:
        """Those of the log with this method and at least these parameters."""
        return [
            one for one in self.log if one["method"] == method and params.items() <= one["params"].items()
        ]

    def wait_for(self, predicate: Callable[[], T], timeout: float = PATIENCE_SECONDS, what: str = "") -> T:
        """Poll until the predicate gives something true, and return that. Raises AssertionError after `timeout` s."""
        deadline = time.monotonic() + timeout
        while not (found := predicate()):
            if time.monotonic() >= deadline:
                raise AssertionError(f"waited {timeout} s for {what or predicate}\n{self._situation()}")
            time.sleep(POLL_SECONDS)
        return found

    def _situation(self) -> str:
        try:
            return "\n".join(f"{pane}: {told}\n{self.screen(pane)}" for pane, told in self.panes().items())
        except (OSError, HerdrError) as error:
            return f"(herdr cannot say more: {error})"

    def leftovers(self) -> list[int]:
        """Living processes that were started in a pane of this server, wherever they went since."""
        mark = f"HERDR_SOCKET_PATH={self.socket}".encode()
        server = self._process.pid if self._process else None
        pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
        return [pid for pid in pids if pid != server and mark in _environ(pid)]

    def sweep(self) -> None:
        """End them, none with a last word: a shell that dies hangs up the pi in it, and a pi outlives its command. So all
        stand still before the first dies, parents first, and die children first.
        """
        deadline = time.monotonic() + PATIENCE_SECONDS
        while left := self.leftovers():
            if time.monotonic() >= deadline:
                raise AssertionError(f"processes {left} do not end")
            for pid in sorted(left):
                _signal(pid, signal.SIGSTOP)
            for pid in sorted(left, reverse=True):
                _signal(pid, signal.SIGKILL)
            time.sleep(POLL_SECONDS)


def _environ(pid: int) -> list[bytes]:
    """Empty for zombies, kernel threads, ourselves and whatever may not be asked."""
    try:
        return [] if pid == os.getpid() else Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
