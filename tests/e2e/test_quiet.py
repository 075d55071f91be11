"""An hour with ten healthy children: the real looks, on real files and real sockets, on a clock that jumps ahead."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from e2e.stranded import LAUNCHERS_PANE, pane
from process_driver import SESSION, launcher_file
from runs.written import activity, header, key, message, script, text
from standins.herdr.listener import Listener
from standins.intercom import Broker
from standins.intercom_peer import IntercomPeer

from strawboss.config import Config
from strawboss.pi.link import Link
from strawboss.pi.protocol import Started
from strawboss.recovery.memory import Look
from strawboss.resident.session import Session

CHILDREN = 10
LOOKS_OF_AN_HOUR = 240
LOOK_SECONDS = 15.0
FIRST_PID = 5_000_000  # of the children: beyond what Linux gives to any process


class Family:
    """A launcher with ten children at work, each in a pane of its own; counts whatever anybody is asked."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.file = directory, launcher_file(directory)
        self.runs = [f"1a2b3c{number:02x}" for number in range(CHILDREN)]
        self.tracked = list(self.runs)
        self.asked: Counter[str] = Counter()
        self.now = 1_796_000_000.0
        self._sequence = 0
        self._answers: deque[bytes] = deque()
        self.artifacts = directory / "artifacts" / SESSION
        for folder in ("subagent-activity", "subagent-scripts"):
            (self.artifacts / folder).mkdir(parents=True)
        for number in range(CHILDREN):
            self._launch(number)
        self.broker = Broker(directory / "agent")
        self._herdr = Listener(directory / "h.sock", self._as_herdr)
        self._link = Link(self._read, self._as_pi, lambda _: None, self._junk)
        self._session = self._started()

    def _launch(self, number: int) -> None:
        child = self.session_of(number)
        child.write_bytes(text(header(f"child {number}"), message("user", content="go")))
        written = script(self.runs[number], str(child), name=f"child {number}", surface=f"w1:p{number + 2}")
        self.script_of(number).write_text(written)
        self.works(number)

    def session_of(self, number: int) -> Path:
        return self.directory / f"2026-12-01T21-47-46-949Z_{self.runs[number]}-1a54df95-6a7903a4-264c.jsonl"

    def script_of(self, number: int) -> Path:
        return self.artifacts / "subagent-scripts" / f"child-{number}-{self.runs[number]}.sh"

    def works(self, number: int, **changes: Any) -> None:
        """The child writes its activity anew, as it does with every event."""
        self._sequence += 1
        own = {
            "phase": "active",
            "latestEvent": "turn_start",
            "sequence": self._sequence,
            "agentActive": True,
        }
        file = self.artifacts / "subagent-activity" / f"{self.runs[number]}.json"
        temporary = file.with_suffix(".json.1.tmp")
        temporary.write_text(json.dumps(activity(self.runs[number], **own | changes)) + "\n")
        temporary.replace(file)

    def _started(self) -> Session:
        started = Started(
            protocol=1,
            id=SESSION,
            file=str(self.file),
            dir=str(self.directory),
            cwd=str(self.directory),
            pane=LAUNCHERS_PANE,
            pids={"pi": os.getpid()},
        )
        environment = {
            "HERDR_SOCKET_PATH": str(self.directory / "h.sock"),
            "PI_CODING_AGENT_DIR": str(self.directory / "agent"),
        }
        silent: Any = SimpleNamespace(info=lambda *_, **__: None)
        return Session(started, Config(), environment, "linux", self._link, silent, lambda: False)

    def look(self) -> Look:
        self.now += LOOK_SECONDS
        return self._session.look()

    def everything(self) -> tuple[dict[str, int], bytes]:
        """All that was asked of anybody but the registry, and all that is in the launcher's session."""
        others = {what: times for what, times in self.asked.items() if what != "registry.read"}
        calls = len(self.broker.frames("register", session="straw-boss"))  # every call begins with one
        return {**others, "intercom": calls}, self.file.read_bytes()

    # -- those who are asked -----------------------------------------------------------------------------------

    def _read(self, _seconds: float) -> bytes | None:
        return self._answers.popleft() if self._answers else None

    def _as_pi(self, line: bytes) -> None:
        said = json.loads(line)
        self.asked[said["method"]] += 1
        if said["method"] == "session.append":
            with self.file.open("ab") as file:
                file.write(text(key(**said["params"]["data"])))
        results = {"registry.read": {"readable": True, "ids": self.tracked}, "session.append": "appended"}
        answer = {"jsonrpc": "2.0", "id": said["id"], "result": results.get(said["method"], True)}
        self._answers.append(json.dumps(answer).encode() + b"\n")

    def _junk(self, why: str) -> None:
        raise AssertionError(why)

    def _as_herdr(self, connection: socket.socket) -> None:
        request = json.loads(connection.makefile("rb").readline())
        self.asked[request["method"]] += 1
        answer = {"pane.list": self._panes, "pane.process_info": self._processes}[request["method"]]
        connection.sendall(
            json.dumps({"id": request["id"], "result": answer(request["params"])}).encode() + b"\n"
        )

    def _panes(self, _: Any) -> dict[str, Any]:
        own = [
            pane(f"w1:p{number + 2}", self.session_of(number), f"term_{number}") for number in range(CHILDREN)
        ]
        return {"type": "pane_list", "panes": [pane(LAUNCHERS_PANE, self.file, "term_l"), *own]}

    def _processes(self, params: Any) -> dict[str, Any]:
        number = int(params["pane_id"].removeprefix("w1:p")) - 2
        foreground = [
            {"pid": 1000, "name": "bash", "argv": ["bash", str(self.script_of(number))]},
            {"pid": FIRST_PID + number, "name": "pi", "argv": ["pi"]},
        ]
        info = {"pane_id": params["pane_id"], "shell_pid": 1, "foreground_processes": foreground}
        return {"type": "pane_process_info", "process_info": info}

    def close(self) -> None:
        self._herdr.stop()


@pytest.fixture
def family(monkeypatch: pytest.MonkeyPatch) -> Iterator[Family]:
    with tempfile.TemporaryDirectory(prefix="sb-") as directory:
        one = Family(Path(directory))
        clock = SimpleNamespace(time=lambda: one.now, monotonic=lambda: one.now)
        monkeypatch.setattr("strawboss.resident.session.time", clock)
        with one.broker:
            yield one
        one.close()


def test_once_ten_healthy_children_are_noted_an_hour_asks_nobody_and_writes_nothing(family: Family) -> None:
    family.look()
    noted = Counter(json.loads(line)["data"]["seen"] for line in family.file.read_text().splitlines()[2:])
    assert noted == Counter(family.runs)
    before = family.everything()
    for _ in range(LOOKS_OF_AN_HOUR):
        for number in range(CHILDREN):
            family.works(number)
        look = family.look()
        assert [run.state for run in look.runs] == ["tracked"] * CHILDREN
    assert family.everything() == before
    assert family.asked["registry.read"] == LOOKS_OF_AN_HOUR + 1


def test_the_one_that_is_lost_in_such_an_hour_is_asked_once_and_the_rest_is_quiet_again(
    family: Family,
) -> None:
    """The counters count: an hour like the one above, but for one child that ends its turn and is not tracked."""
    with (
        IntercomPeer(family.broker.socket_path, SESSION, name="launcher", pid=os.getpid()),
        IntercomPeer(family.broker.socket_path, "child 3", name="child", pid=FIRST_PID + 3) as child,
    ):
        family.look()
        family.tracked.remove(family.runs[3])
        family.works(3, phase="waiting", latestEvent="agent_end")
        for _ in range(2):
            family.look()
        asked = family.everything()
        for _ in range(LOOKS_OF_AN_HOUR):
            family.look()
        assert len(child.texts()) == 1
        assert SESSION in child.texts()[0]
        assert family.everything() == asked
        assert family.asked["ui.notify"] == 1
