"""An extension for tests: starts the real `strawboss run`, answers its requests, keeps all that was said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from runs.written import header, message, text

SESSION = "01a23392-c4f6-76a6-87c2-4d480b13177c"
SECONDS = 90.0
Answers = dict[str, Callable[[dict[str, Any]], Any]]


class Refuse(Exception):  # noqa: N818 - what an answer raises to be an error
    pass


def launcher_file(directory: Path) -> Path:
    """A launcher's session file as pi has it after the first prompt; one that is there is gone on with."""
    file = directory / f"2026-12-01T21-46-26-423Z_{SESSION}.jsonl"
    if not file.exists():
        file.write_bytes(text(header(SESSION), message("user", content="hello")))
    return file


class Extension:
    """`answers` by method; a method without one is never answered. Leaving closes the process's stdin."""

    def __init__(self, directory: Path, answers: Answers | None = None, **environment: str) -> None:
        self.directory, self.file = directory, launcher_file(directory)
        self.state = directory / "state"
        self.answers = self.obliging() | (answers or {})
        self.asked: list[dict[str, Any]] = []
        self._news = threading.Condition()
        self._ended = False
        own = {
            "STRAWBOSS_STATE_DIR": str(self.state),
            "STRAWBOSS_CONFIG": str(directory / "config.yaml"),
            "STRAWBOSS_INTERVAL": "0.1",
            "HERDR_SOCKET_PATH": str(directory / "no-herdr.sock"),
            "PI_CODING_AGENT_DIR": str(directory / "agent"),
        }
        foreign = ("STRAWBOSS_", "HERDR_", "PI_")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "strawboss", "run"],
            env=inherited | own | environment,
            cwd=directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def obliging(self) -> Answers:
        """What the extension in a settled session with pi-herdr-agents answers."""
        return {
            "registry.read": lambda _: {"readable": True, "ids": []},
            "session.state": lambda _: {"idle": True, "compacting": False},
            "session.append": self.append,
            "session.tell": lambda _: "told",
            "ui.notify": lambda _: True,
            "ui.status": lambda _: True,
        }

    def append(self, params: dict[str, Any]) -> str:
        """As pi does: the entry is in the file when the answer comes."""
        entry = {
            "type": "custom",
            "customType": "straw-boss",
            "data": params["data"],
            "id": os.urandom(4).hex(),
        }
        with self.file.open("a") as file:
            file.write(json.dumps(entry | {"parentId": None, "timestamp": "2026-12-01T21:50:00.000Z"}) + "\n")
        return "appended"

    # -- saying

    def starts(self, **changes: Any) -> Self:
        """`session.started`, with changes."""
        params = {
            "protocol": 1,
            "reason": "startup",
            "id": SESSION,
            "file": str(self.file),
            "dir": str(self.directory),
            "name": "boss",
            "cwd": str(self.directory),
            "pane": "w1:p1",
            "pids": {"pi": os.getpid()},
            "mode": "tui",
            "versions": {"pi": "1.6.0"},
        }
        self.say({"method": "session.started", "params": params | changes})
        return self

    def say(self, message: Mapping[str, Any] | bytes) -> None:
        line = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def status(self, run: str = "") -> list[str]:
        number = 9000 + sum("result" in message for message in self.asked)
        self.say({"id": number, "method": "status", "params": {"run": run}})
        lines: list[str] = self.wait_for(lambda said: said.get("id") == number and "result" in said)["result"]
        return lines

    def status_with(self, words: str) -> str:
        """The whole status, once it says these words."""
        deadline = time.monotonic() + SECONDS
        while words not in (status := "\n".join(self.status())):
            assert time.monotonic() < deadline, status
        return status

    # -- hearing

    def count(self, method: str) -> int:
        with self._news:
            return sum(said.get("method") == method for said in self.asked)

    def looks(self, more: int = 1) -> None:
        """Wait for so many further looks to be over: each begins with the registry."""
        self.wait_for(is_method("registry.read"), count=self.count("registry.read") + more + 1)

    def wait_for(
        self, wanted: Callable[[dict[str, Any]], bool], *, count: int = 1, seconds: float = SECONDS
    ) -> dict[str, Any]:
        def found() -> list[dict[str, Any]]:
            return [said for said in self.asked if wanted(said)]

        with self._news:
            self._news.wait_for(lambda: self._ended or len(found()) >= count, seconds)
            hits = found()
            assert len(hits) >= count, f"{len(hits)} of {count}; it last said {self.asked[-4:]}"
            return hits[count - 1]

    def notices(self) -> list[str]:
        with self._news:
            return [said["params"]["text"] for said in self.asked if said.get("method") == "ui.notify"]

    def log(self) -> list[dict[str, Any]]:
        files = sorted((self.state / "logs").glob("*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    # -- ending

    def hang_up(self) -> float:
        """Close its stdin; the seconds until it was gone."""
        assert self.process.stdin
        self.process.stdin.close()
        before = time.monotonic()
        self.process.wait(SECONDS)
        return time.monotonic() - before

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stderr
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(SECONDS)
        finally:
            self.process.kill()
            self._reader.join()
            self.errors = self.process.stderr.read().decode()
            self.process.stdout.close()
            self.process.stderr.close()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            said = json.loads(line)
            answer = self._answer(said) if "method" in said else None
            with self._news:
                self.asked.append(said)
                self._news.notify_all()
            if answer is not None:
                try:
                    self.say(answer)
                except (BrokenPipeError, ValueError):
                    continue
        with self._news:
            self._ended = True
            self._news.notify_all()

    def _answer(self, said: dict[str, Any]) -> dict[str, Any] | None:
        if said["method"] not in self.answers:
            return None
        try:
            return {"id": said["id"], "result": self.answers[said["method"]](said["params"])}
        except Refuse as refusal:
            return {"id": said["id"], "error": {"code": -32000, "message": str(refusal)}}


def is_method(method: str) -> Callable[[dict[str, Any]], bool]:
    return lambda said: said.get("method") == method
