"""One stranded run on a real disk, for the real process: an extension, a herdr and a broker that do as they are told.

    with World(directory, RESTORED) as world:
        with world.pi() as pi:
            pi.starts()
            world.wait_for(world.is_recovered)

Whatever the process asks of anybody passes through `World.passes`, where a test may break something at just that step.
What came of it is judged by what reached the neighbours and by the session file.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from process_driver import SESSION, Extension, launcher_file
from runs.written import RUN, activity, header, key, message, script, text
from standins.herdr.listener import Behaviour, Listener
from standins.intercom import Broker
from standins.intercom_peer import IntercomPeer

RESTORED, DONE = "restored", "done"  # cut off and brought back plain; finished, and nobody was told
PANE, LAUNCHERS_PANE, CHILD_PID = "w1:p3", "w1:p1", 4_000_000
SECONDS = 90.0
Step = tuple[str, str]  # who was asked: pi | herdr | intercom; and for what


class World:
    """`broken`: how herdr behaves instead of answering. `spoiled`: what it says after doing a method. `meanwhile` is told
    of every step before it is done."""

    def __init__(self, directory: Path, kind: str, name: str = "Beta") -> None:
        self.directory, self._kind = directory, kind
        self.steps: list[Step] = []
        self._pis: list[Pi] = []
        self.broken: Behaviour | None = None
        self.spoiled: dict[str, bytes] = {}
        self.meanwhile: Callable[[Step], None] = lambda step: None
        self._lock = threading.Lock()
        self.file = launcher_file(directory)
        self.child = directory / f"2026-12-01T21-47-46-949Z_{RUN}-1a54df95-6a7903a4-264c.jsonl"
        self.script = directory / "artifacts" / SESSION / "subagent-scripts" / f"beta-{RUN}.sh"
        self._write_run(name)
        self.panes = {
            LAUNCHERS_PANE: pane(LAUNCHERS_PANE, self.file, "term_1"),
            PANE: pane(PANE, self.child, "term_2"),
        }
        self.socket = directory / "h.sock"
        self.herdr: Listener | None = Listener(self.socket, self._answer)
        self.broker = WatchedBroker(directory / "agent", self.passes)
        self._open = ExitStack()

    def _write_run(self, name: str) -> None:
        is_cut = self._kind == RESTORED
        call = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "sleep 9"}}
        answer = (
            {"content": [call], "stopReason": "toolUse"} if is_cut else {"content": [], "stopReason": "stop"}
        )
        self.child.write_bytes(
            text(header("child"), message("user", content="go"), message("assistant", **answer))
        )
        noted = "term_1" if is_cut else "term_2"
        with self.file.open("ab") as file:
            file.write(text(key(seen=RUN, terminal=noted, pane=PANE)))
        told = activity(phase="active" if is_cut else "waiting")
        file_of_it = self.directory / "artifacts" / SESSION / "subagent-activity" / f"{RUN}.json"
        for path, written in (
            (file_of_it, json.dumps(told) + "\n"),
            (self.script, script(RUN, str(self.child), name=name, surface=PANE)),
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(written)

    def __enter__(self) -> Self:
        self._open.callback(self.stop_herdr)
        self._open.enter_context(self.broker)
        self.launcher = self._open.enter_context(self._peer(SESSION, os.getpid()))
        self._open.enter_context(self._peer("child", CHILD_PID))
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def _peer(self, session: str, pid: int) -> IntercomPeer:
        return IntercomPeer(self.broker.socket_path, session, name=session, pid=pid)

    def pi(self) -> Pi:
        self._pis.append(Pi(self))
        return self._pis[-1]

    def stop_herdr(self) -> None:
        if self.herdr:
            self.herdr.stop()
        self.herdr = None
        self.socket.unlink(missing_ok=True)

    def start_herdr(self) -> None:
        self.herdr = Listener(self.socket, self._answer)

    # -- every step ----------------------------------------------------------------------------------------------

    def passes(self, who: str, what: str) -> None:
        """One at a time, in the order in which the process asks."""
        with self._lock:
            self.steps.append((who, what))
            self.meanwhile((who, what))

    def _answer(self, connection: socket.socket) -> None:
        if self.broken:
            self.steps.append(("herdr", "broken"))
            self.broken(connection)
            return
        request = json.loads(connection.makefile("rb").readline())
        self.passes("herdr", request["method"])
        result = getattr(self, f"_on_{request['method'].replace('.', '_')}")(request["params"])
        reply = json.dumps({"id": request["id"], **result}).encode() + b"\n"
        connection.sendall(self.spoiled.get(request["method"], reply))

    def _on_pane_list(self, _: Any) -> dict[str, Any]:
        return {"result": {"type": "pane_list", "panes": list(self.panes.values())}}

    def _on_pane_process_info(self, params: Any) -> dict[str, Any]:
        shell = {"pid": 2, "name": "bash", "argv": ["bash", str(self.script)]}
        foreground = [{"pid": CHILD_PID, "name": "pi", "argv": ["pi"]}]
        own = foreground if self._kind == RESTORED else [shell, *foreground]
        info = {"pane_id": params["pane_id"], "shell_pid": 1, "foreground_processes": own}
        return {"result": {"type": "pane_process_info", "process_info": info}}

    def _on_pane_close(self, params: Any) -> dict[str, Any]:
        if self.panes.pop(params["pane_id"], None):
            return {"result": {"type": "ok"}}
        return {"error": {"code": "pane_not_found", "message": "no such pane"}}

    # -- what came of it -------------------------------------------------------------------------------------------

    @property
    def _entries(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.file.read_text().splitlines()]

    def keys(self) -> list[str]:
        """The names of all keys in the session file, in order."""
        return [next(iter(one["data"])) for one in self._entries if one["type"] == "custom"]

    def messages(self) -> list[str]:
        """What was put into the launcher's session."""
        return [one["content"] for one in self._entries if one["type"] == "custom_message"]

    def closes(self) -> int:
        return self.steps.count(("herdr", "pane.close"))

    def sends(self) -> int:
        return self.steps.count(("intercom", "send"))

    def is_recovered(self) -> bool:
        return ("resumed" if self._kind == RESTORED else "nudged") in self.keys()

    def is_untouched(self) -> bool:
        return self.keys() == ["seen"] and not (self.messages() or self.closes() or self.sends())

    def wait_for(self, predicate: Callable[[], Any]) -> None:
        deadline = time.monotonic() + SECONDS
        while not predicate():
            assert time.monotonic() < deadline, self._situation()
            time.sleep(0.01)

    def wait_for_steps(self, step: Step, count: int) -> None:
        self.wait_for(lambda: self.steps.count(step) >= count)

    def _situation(self) -> str:
        ended = [pi.process.poll() for pi in self._pis]
        said = [pi.asked[-3:] for pi in self._pis]
        return f"{self.keys()} after {self.steps[-30:]}; processes ended with {ended}, they last said {said}"


class Pi(Extension):
    """The launcher's pi of that world: what it is asked it does, until it quits."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.has_quit = self.does_its_last = False
        super().__init__(world.directory, {"session.tell": self._tell}, HERDR_SOCKET_PATH=str(world.socket))

    def _tell(self, params: dict[str, Any]) -> str:
        """As an idle pi does: the message is in the file, and then the extension hears of it."""
        details = {"id": params["id"], "runs": params["runs"]}
        entry = {"type": "custom_message", "customType": "straw-boss", "content": params["text"]}
        entry |= {"display": True, "details": details, "id": os.urandom(4).hex(), "parentId": None}
        with self.file.open("a") as file:
            file.write(json.dumps(entry | {"timestamp": "2026-12-01T21:50:00.000Z"}) + "\n")
        if not self.has_quit:
            self.say({"method": "session.entry", "params": {"id": params["id"]}})
        return "told"

    def _answer(self, said: dict[str, Any]) -> dict[str, Any] | None:
        if self.has_quit or "id" not in said:
            return None
        self._world.passes("pi", said["method"])
        if not self.has_quit:
            return super()._answer(said)
        if self.does_its_last:
            self.answers[said["method"]](said["params"])
        return None

    def quit(self, does_its_last: bool) -> None:
        """Its end of the pipes closes; what it is being asked at this moment it still does, or never."""
        self.has_quit, self.does_its_last = True, does_its_last
        assert self.process.stdin
        self.process.stdin.close()


class WatchedBroker(Broker):
    """Tells of every frame strawboss says to it, before it does anything about it."""

    def __init__(self, agent_directory: Path, passes: Callable[[str, str], None]) -> None:
        super().__init__(agent_directory)
        self._passes = passes

    def _record(self, direction: str, connection: int, frame: dict[str, Any]) -> None:
        super()._record(direction, connection, frame)
        if direction == "to-broker" and self._names.get(connection) == "straw-boss":
            self._passes("intercom", frame["type"])


def pane(pane_id: str, session_file: Path, terminal: str) -> dict[str, Any]:
    """As herdr lists a pane with an idle pi in it."""
    session = {"source": "herdr:pi", "agent": "pi", "kind": "path", "value": str(session_file)}
    place = {"pane_id": pane_id, "terminal_id": terminal, "workspace_id": "w1", "tab_id": "w1:t1"}
    return {
        **place,
        "focused": False,
        "agent": "pi",
        "agent_status": "idle",
        "agent_session": session,
        "revision": 0,
    }
