"""The process of a launcher: its start, its memory, a day without anything to do, a look with something to do."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TextIO
from unittest.mock import patch

import psutil
from bench.budget import Budget, Measured
from bench.measuring import Call, paired
from readers import LONG_AGO, SESSION, launcher_with_runs

from strawboss.config import Config
from strawboss.pi.link import Link
from strawboss.pi.protocol import Started
from strawboss.resident.log import Log
from strawboss.resident.session import Session

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from standins.herdr.listener import Listener
from standins.intercom import Broker
from standins.intercom_peer import IntercomPeer

ENTRY = "from strawboss.__main__ import main; main()"  # as the extension starts it
RUNS = 20
STARTS = 7
IDLE_LOOKS, BATCHES = 20, 5
LOOKS_A_DAY = 24 * 3600 / 15
BUSY_ROUNDS = 40
BUDGETS = (
    START := Budget(
        "start to the end of the first look",
        "ms",
        150.0,
        "importing what a look uses; on a machine with nothing else to do it is the time on the clock",
        beside="a bare interpreter, ms",
    ),
    END := Budget("end once the extension is gone, on the clock", "ms", 1000.0, "the end of a pipe wakes it"),
    DAY := Budget(
        f"a day idle, {RUNS} healthy runs", "s", 4.0, "5,760 looks: one stat, one question to the extension"
    ),
    MEMORY := Budget(
        f"resident after {IDLE_LOOKS * BATCHES} looks at {RUNS} runs, with the tape",
        "MiB",
        22.0,
        "what is imported, and what is known of each run",
        beside="a bare interpreter, MiB",
    ),
    BUSY := Budget(
        "busy look at one stranded run",
        "ms",
        3.0,
        "one roster, one pane list, one process-info, and the decision",
        beside="the raw socket calls, ms",
        times=True,
    ),
)


def measure() -> list[Measured]:
    with tempfile.TemporaryDirectory(prefix="sb-", dir="/tmp") as folder:  # short: sockets lie in it
        return [*_starts(Path(folder)), *_idle_day(Path(folder)), *_busy(Path(folder))]


def _starts(folder: Path) -> Iterator[Measured]:
    place = Place(folder / "start")
    pairs = [(_first_look(place), bare_interpreter()[0]) for _ in range(STARTS)]
    ours, bare = (min(times) for times in zip(*pairs, strict=True))
    yield START.measured(ours * 1000, bare * 1000)
    yield END.measured(_end_seconds(place) * 1000)


def _first_look(place: Place) -> float:
    with place.process(interval=60) as process:
        process.look()
        return process.cpu


def bare_interpreter() -> tuple[float, float]:
    """What it has cost when it waits for its first line: seconds of the processor, and MiB."""
    with subprocess.Popen(
        [sys.executable, "-P", "-c", "print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as bare:
        assert bare.stdout
        bare.stdout.readline()
        cost = cpu_of(bare.pid), memory_of(bare.pid)
        bare.communicate(b"\n")
    return cost


def _end_seconds(place: Place) -> float:
    with place.process(interval=60) as process:
        process.look()
        hung_up = time.monotonic()
    return time.monotonic() - hung_up


def _idle_day(folder: Path) -> Iterator[Measured]:
    place = Place(folder / "idle")
    with place.process(interval=0.1) as process:
        for _ in range(10):
            process.look()
        spent = min(_cpu_of_looks(process) for _ in range(BATCHES))
        yield DAY.measured(spent / IDLE_LOOKS * LOOKS_A_DAY)
        yield MEMORY.measured(process.memory, bare_interpreter()[1])


def _cpu_of_looks(process: Running) -> float:
    before = process.cpu
    for _ in range(IDLE_LOOKS):
        process.look()
    return process.cpu - before


def _busy(folder: Path) -> Iterator[Measured]:
    place = Place(folder / "busy", runs=1, tracked=False)
    with place.neighbours() as raw, place.session() as session:
        look = session.look()
        assert place.asked == ["pane.list", "pane.process_info"], look.runs
        ours, bare = paired(session.look, raw, BUSY_ROUNDS, time.perf_counter)
    yield BUSY.measured(ours * 1000, bare * 1000)


def cpu_of(pid: int) -> float:
    """Seconds of the processor: what the scheduler has counted, else what the system tells in ticks."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    except OSError:
        times = psutil.Process(pid).cpu_times()
        return float(times.user + times.system)


def memory_of(pid: int) -> float:
    """MiB that are resident."""
    return float(psutil.Process(pid).memory_info().rss / 2**20)


class Place:
    """A launcher with so many runs that have been noted as running, and everything a process needs around it."""

    def __init__(
        self, folder: Path, runs: int = RUNS, *, tracked: bool = True, reported: bool = False
    ) -> None:
        self.folder, self.file = folder, folder / "launcher.jsonl"
        self.ids = [f"{number:08x}" for number in range(runs)]
        self.tracked = self.ids if tracked else []
        self.asked: list[str] = []
        folder.mkdir()
        launcher_with_runs(folder, runs)
        with self.file.open("a") as file:
            for run in self.ids:
                data = {"seen": run, "terminal": "t1"}
                _write(file, type="custom", customType="straw-boss", id=run, data=data)
                if reported:
                    result = {"customType": "subagent_result", "content": "", "id": f"r{run}"}
                    _write(
                        file, type="custom_message", details={"sessionFile": self._session_of(run)}, **result
                    )
        scripts = sorted((folder / "artifacts" / "subagent-scripts").iterdir())
        for run, script in zip(self.ids, scripts, strict=True):
            script.write_text(script.read_text().replace(str(folder / f"{run}.jsonl"), self._session_of(run)))
            os.utime(script, (LONG_AGO, LONG_AGO))  # long enough for what was read of it to be trusted
        # Where the session's artifacts are looked for.
        (folder / "x" / "artifacts").mkdir(parents=True)
        (folder / "x" / "artifacts" / SESSION).symlink_to(folder / "artifacts")

    @property
    def activities(self) -> Path:
        return self.folder / "artifacts" / "subagent-activity"

    @property
    def started(self) -> dict[str, Any]:
        told = {"protocol": 1, "id": SESSION, "file": str(self.file), "dir": str(self.folder / "x")}
        return told | {"cwd": str(self.folder), "pids": {"pi": os.getpid()}}

    def _session_of(self, run: str) -> str:
        return str(self.folder / f"2026_{run}-1-1-1.jsonl")

    def answer(self, method: str) -> Any:
        return {"readable": True, "ids": self.tracked} if method == "registry.read" else True

    @contextmanager
    def process(self, interval: float) -> Iterator[Running]:
        own = {"STRAWBOSS_STATE_DIR": str(self.folder / "state"), "STRAWBOSS_INTERVAL": str(interval)}
        own |= {"STRAWBOSS_CONFIG": str(self.folder / "none.yaml")}
        child = subprocess.Popen(
            [sys.executable, "-P", "-c", ENTRY, "run"],
            env={**os.environ, **own},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        try:
            yield Running(child, self)
        finally:
            assert child.stdin
            child.stdin.close()
            child.wait(10)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """One in this very process, so that only its looks are measured."""
        pending: list[bytes] = []

        def write(line: bytes) -> None:
            asked = json.loads(line)
            answer = {"id": asked["id"], "result": self.answer(asked["method"])}
            pending.append(json.dumps(answer).encode() + b"\n")

        link = Link(lambda _: pending.pop(0) if pending else None, write, lambda _: None, lambda _: None)
        environment = {
            "HERDR_SOCKET_PATH": str(self.folder / "h"),
            "PI_CODING_AGENT_DIR": str(self.folder / "agent"),
        }
        log = Log(self.folder / "logs", "bench")
        started = Started(**self.started)
        own = {"STRAWBOSS_STATE_DIR": str(self.folder / "state")}
        with (
            patch.dict(os.environ, own),
            closing(Session(started, Config(), environment, "linux", link, log, lambda: False)) as session,
        ):
            yield session
        log.close()

    @contextmanager
    def neighbours(self) -> Iterator[Call]:
        """herdr and a broker, with the child in a pane; gives what asks both for the same by bare sockets."""
        agent = self.folder / "agent"
        herdr = Listener(self.folder / "h", self._herdr)
        with (
            Broker(agent) as broker,
            IntercomPeer(broker.socket_path, SESSION),
            IntercomPeer(broker.socket_path, "child", pid=3),
        ):
            yield lambda: self._raw_look(broker.socket_path)
        herdr.stop()

    def _herdr(self, connection: socket.socket) -> None:
        asked = json.loads(connection.recv(65536))
        self.asked.append(asked["method"])
        results = {"pane.list": self._panes(), "pane.process_info": self._processes()}
        connection.sendall(
            json.dumps({"id": asked["id"], "result": results[asked["method"]]}).encode() + b"\n"
        )

    def _panes(self) -> dict[str, Any]:
        session = {"source": "herdr:pi", "agent": "pi", "kind": "path"}
        session["value"] = self._session_of(self.ids[0])
        pane = {
            "pane_id": "w1:p1",
            "terminal_id": "t1",
            "workspace_id": "w1",
            "tab_id": "w1:t1",
            "focused": False,
        }
        pane |= {"agent": "pi", "agent_status": "done", "agent_session": session, "revision": 0}
        return {"type": "pane_list", "panes": [pane]}

    def _processes(self) -> dict[str, Any]:
        script = str(self.folder / "x" / "artifacts" / SESSION / "subagent-scripts" / f"a-{self.ids[0]}.sh")
        foreground = [
            {"pid": 2, "name": "bash", "argv": ["bash", script]},
            {"pid": 3, "name": "pi", "argv": ["pi"]},
        ]
        info = {"pane_id": "w1:p1", "shell_pid": 1, "foreground_processes": foreground}
        return {"type": "pane_process_info", "process_info": info}

    def _raw_look(self, broker: Path) -> None:
        self._raw_roster(broker)
        for method in ("pane.list", "pane.process_info"):
            self._raw(method)

    def _raw(self, method: str) -> Any:
        with socket.socket(socket.AF_UNIX) as herdr:
            herdr.connect(str(self.folder / "h"))
            herdr.sendall(
                json.dumps({"id": "1", "method": method, "params": {"pane_id": "w1:p1"}}).encode() + b"\n"
            )
            with herdr.makefile("rb") as answer:
                return json.loads(answer.readline())

    def _raw_roster(self, path: Path) -> Any:
        session = {"cwd": "/", "model": "none", "pid": 1, "startedAt": 1, "lastActivity": 1}
        with socket.socket(socket.AF_UNIX) as broker:
            broker.connect(str(path))
            _send(broker, {"type": "register", "sessionId": "raw", "session": session})
            _receive(broker)
            _send(broker, {"type": "list", "requestId": "1"})
            roster = _receive(broker)
            _send(broker, {"type": "unregister"})
        return roster


class Running:
    """A process and its extension, which is this one."""

    def __init__(self, child: subprocess.Popen[bytes], place: Place) -> None:
        self._child, self._place = child, place
        self._looks = 0
        self._say({"method": "session.started", "params": place.started})

    def look(self) -> None:
        """Until the next look is over: the status answered right after it tells of it."""
        assert self._child.stdout
        asked = {"method": ""}
        while asked["method"] != "registry.read":
            asked = self._hear()
        self._looks += 1
        if self._looks == 1:
            while asked["method"] != "ui.status":  # what the first look ends with
                asked = self._hear()

    @property
    def cpu(self) -> float:
        return cpu_of(self._child.pid)

    @property
    def memory(self) -> float:
        return memory_of(self._child.pid)

    def _hear(self) -> dict[str, Any]:
        assert self._child.stdout
        asked: dict[str, Any] = json.loads(self._child.stdout.readline())
        if "id" in asked:
            self._say({"id": asked["id"], "result": self._place.answer(asked["method"])})
        return asked

    def _say(self, message: dict[str, Any]) -> None:
        assert self._child.stdin
        self._child.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._child.stdin.flush()


def _write(file: TextIO, **entry: object) -> None:
    file.write(json.dumps(entry) + "\n")


def _send(peer: socket.socket, frame: dict[str, Any]) -> None:
    content = json.dumps(frame).encode()
    peer.sendall(struct.pack(">I", len(content)) + content)


def _receive(peer: socket.socket) -> Any:
    (length,) = struct.unpack(">I", peer.recv(4, socket.MSG_WAITALL))
    return json.loads(peer.recv(length, socket.MSG_WAITALL))
