"""The real pi in rpc mode, spoken with line by line, everything it says kept."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import psutil
from e2e.pi_install import pi_binary

SECONDS = 90.0

Said = dict[str, Any]


class PiRpc:
    """`with PiRpc(environment, cwd) as pi:`; leaving closes its stdin, which ends it in order."""

    def __init__(self, environment: Mapping[str, str], cwd: Path, *arguments: str) -> None:
        self._said: list[Said] = []
        self._news = threading.Condition()
        self._ended = False
        self._ids = 0
        self.process = subprocess.Popen(
            [str(pi_binary()), "--mode", "rpc", *arguments],
            env=dict(environment),
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(SECONDS)
        finally:
            self.process.kill()
            self._reader.join()
            assert self.process.stdout
            self.process.stdout.close()

    @property
    def said(self) -> list[Said]:
        with self._news:
            return list(self._said)

    def ask(self, kind: str, **fields: Any) -> Said:
        """One command and its reply; raises AssertionError when pi refuses."""
        self._ids += 1
        number = f"q{self._ids}"
        self.send({"id": number, "type": kind, **fields})
        reply = self.wait_for(lambda said: said.get("type") == "response" and said.get("id") == number)
        assert reply["success"], reply
        return reply.get("data") or {}

    def send(self, command: Said) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        self.process.stdin.flush()

    def prompt(self, message: str) -> None:
        """A prompt, until the run it starts has settled."""
        before = self.count(lambda said: said["type"] == "agent_settled")
        self.ask("prompt", message=message)
        self.wait_for(lambda said: said["type"] == "agent_settled", count=before + 1)

    def command(self, text: str) -> None:
        """An extension's slash command; what it does it may still be doing."""
        self.ask("prompt", message=text)

    def count(self, wanted: Callable[[Said], bool]) -> int:
        return sum(map(wanted, self.said))

    def wait_for(self, wanted: Callable[[Said], bool], *, count: int = 1, seconds: float = SECONDS) -> Said:
        """The `count`-th thing said that is `wanted`, said already or soon."""

        def found() -> list[Said]:
            return [said for said in self._said if wanted(said)]

        with self._news:
            self._news.wait_for(lambda: self._ended or len(found()) >= count, seconds)
            hits = found()
            assert len(hits) >= count, f"{len(hits)} of {count}; it last said {self._said[-5:]}"
            return hits[count - 1]

    def notices(self) -> list[str]:
        return [said["message"] for said in self.said if is_notice(said)]

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            with self._news:
                self._said.append(json.loads(line))
                self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()


def is_notice(said: Said) -> bool:
    return said.get("type") == "extension_ui_request" and said.get("method") == "notify"


def descendants(pid: int) -> list[int]:
    """The children of a process, from the live process table."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children]


def is_alive(pid: int) -> bool:
    """A zombie is not: it waits for its parent only."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
