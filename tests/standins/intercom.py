"""A pi-intercom broker for tests, on a real socket, with a log of every frame and ways to break.

`with Broker(agent_directory) as broker:` listens at `<agent_directory>/intercom/broker.sock`. Unlike the real one
it does not stop when its last session leaves. A broker that was stopped or killed is done: start another one.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import struct
import threading
import time
from enum import Enum
from pathlib import Path
from typing import Any

from standins.intercom_rules import Frame, Locate, MalformedError, Rules

LIMIT = 1024 * 1024
REGISTRATION_SECONDS = 1.0
MAX_UNREGISTERED = 32
RATE_CAPACITY, RATE_PER_SECOND = 240, 120
START_SECONDS = 60


class Fault(Enum):
    """How the broker breaks at a frame of a type: `broker.faults["send"] = Fault.HANG`."""

    LOSE = "hangs up without having done it"
    DROP = "does it, and hangs up without an answer"
    HANG = "does nothing more on this connection, and stays"
    GARBAGE = "answers with a frame that is no JSON"
    OVERSIZE = "announces a frame that is too long"
    HALF = "hangs up in the middle of its answer"
    CHATTER = "talks for ever of other things"


class Broker:
    """`only`: the faults meet the session of this name alone."""

    def __init__(
        self,
        agent_directory: Path,
        *,
        exact: bool = True,
        locate: Locate | None = None,
        only: str = "straw-boss",
    ) -> None:
        self.directory = agent_directory / "intercom"
        self.socket_path = self.directory / "broker.sock"
        self.log = self.directory / "frames.jsonl"
        self.faults: dict[str, Fault] = {}
        self._rules, self._only = Rules(exact, locate), only
        self._writers: dict[int, asyncio.StreamWriter] = {}
        self._unregistered: list[int] = []
        self._names: dict[int, str] = {}
        self._loop = asyncio.new_event_loop()
        self._ready, self._over = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="intercom broker")

    # --- for the test

    def start(self) -> Broker:
        if len(os.fsencode(self.socket_path)) > 107:
            raise ValueError(f"too long for a socket: {self.socket_path}")
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._thread.start()
        if not self._ready.wait(START_SECONDS):
            raise TimeoutError("the broker does not start")
        return self

    def stop(self) -> None:
        """As on SIGTERM: every connection ends, its files are gone. A broker that is down already stays so."""
        self.kill()
        for name in ("broker.sock", "broker.pid"):
            (self.directory / name).unlink(missing_ok=True)

    def kill(self) -> None:
        """As on SIGKILL: every connection ends and the socket file stays, with nobody behind it."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._over.set)
            self._thread.join()

    def __enter__(self) -> Broker:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def names(self) -> list[str]:
        """Who stands in the roster now, by name or id."""
        return [one.info.get("name", one.info["id"]) for one in list(self._rules.live.values())]

    def frames(self, *types: str, session: str | None = None) -> list[Frame]:
        """The logged entries `{at, dir: to-broker|from-broker, session, name, frame}` of these types, in order."""
        lines = (
            self.log.read_text().split("\n")[:-1] if self.log.exists() else []
        )  # the last may be half written
        entries = [json.loads(line) for line in lines]
        of_types = [entry for entry in entries if not types or entry["frame"].get("type") in types]
        return [entry for entry in of_types if session in (None, entry["session"], entry["name"])]

    def wait_for(self, *types: str, session: str | None = None, count: int = 1, seconds: float = 60) -> Frame:
        """The `count`-th such entry of the log; raises TimeoutError."""
        deadline = time.monotonic() + seconds
        while len(found := self.frames(*types, session=session)) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(found)} of {count} {types} frames; the roster: {self.names}")
            time.sleep(0.02)
        return found[count - 1]

    def wait_until_gone(self, name: str, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while name in self.names:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{name} is still in the roster")
            time.sleep(0.01)

    # --- the server

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self.socket_path.unlink(missing_ok=True)
        server = await asyncio.start_unix_server(self._converse, self.socket_path)
        self.socket_path.chmod(0o600)
        (self.directory / "broker.pid").write_text(str(os.getpid()))
        self._ready.set()
        await self._over.wait()
        # A server that is closed while it accepts leaves the connection open: first accept no more, then close.
        for listener in server.sockets:
            self._loop.remove_reader(listener.fileno())
        await self._end_conversations()
        server.close()

    async def _end_conversations(self) -> None:
        """Those too that were being accepted just now; no transport may outlive the loop."""
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            for writer in list(self._writers.values()):
                writer.transport.abort()
            await asyncio.wait(others, timeout=0.02)
        for _ in range(3):  # a transport closes its socket one turn after it was told to
            await asyncio.sleep(0)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = id(writer)
        self._writers[connection] = writer
        self._await_registration(connection)
        tokens = _Bucket()
        try:
            while not writer.is_closing():
                frame = await self._read(connection, reader)
                if not tokens.take():
                    self._say(connection, {"type": "error", "error": "too many frames"})
                    break
                fault = self._fault(connection, frame)
                if fault not in (None, Fault.DROP):
                    await self._break(connection, fault, reader, writer)
                    break
                self._handle(connection, frame, answering=fault is None)
                if fault:
                    break
        except (MalformedError, TimeoutError, OSError, EOFError, ValueError):
            pass  # the broker hangs up without a word
        finally:
            self._forget(connection)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
            del self._writers[connection]

    def _await_registration(self, connection: int) -> None:
        self._unregistered.append(connection)
        if len(self._unregistered) > MAX_UNREGISTERED:
            self._writers[self._unregistered.pop(0)].close()

    async def _read(self, connection: int, reader: asyncio.StreamReader) -> Frame:
        unregistered = self._rules.session_of(connection) is None
        async with asyncio.timeout(REGISTRATION_SECONDS if unregistered else None):
            (length,) = struct.unpack(">I", await reader.readexactly(4))
            if length > LIMIT:
                raise MalformedError(f"{length} bytes")
            frame = json.loads(await reader.readexactly(length))
        if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
            raise MalformedError("no type")
        return frame

    def _fault(self, connection: int, frame: Frame) -> Fault | None:
        if frame["type"] == "register":
            self._names[connection] = str((frame.get("session") or {}).get("name", ""))
        self._record("to-broker", connection, frame)
        return self.faults.get(frame["type"]) if self._names.get(connection) == self._only else None

    def _handle(self, connection: int, frame: Frame, answering: bool) -> None:
        outs = self._rules.receive(connection, frame)
        if frame["type"] == "register" and connection in self._unregistered:
            self._unregistered.remove(connection)
        if frame["type"] == "unregister":
            self._await_registration(connection)
        for target, out in outs:
            if answering or target != connection:
                self._say(target, out)

    async def _break(
        self, connection: int, fault: Fault, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if fault is Fault.HANG:
            while await reader.read(LIMIT):
                pass
        elif fault is Fault.CHATTER:
            await self._chatter(connection, writer)
        else:
            writer.write(BROKEN[fault])

    async def _chatter(self, connection: int, writer: asyncio.StreamWriter) -> None:
        while not writer.is_closing() and not self._over.is_set():
            self._say(connection, {"type": "some-news", "of": "nothing"})
            await asyncio.sleep(0.005)

    def _say(self, connection: Any, frame: Frame | None) -> None:
        writer = self._writers.get(connection)
        if writer is None or writer.is_closing():
            return
        if frame is None:
            writer.close()
            return
        self._record("from-broker", connection, frame)
        payload = json.dumps(frame, ensure_ascii=False).encode()
        writer.write(struct.pack(">I", len(payload)) + payload)

    def _forget(self, connection: int) -> None:
        for target, out in self._rules.left(connection):
            self._say(target, out)
        if connection in self._unregistered:
            self._unregistered.remove(connection)
        self._names.pop(connection, None)

    def _record(self, direction: str, connection: int, frame: Frame) -> None:
        session = self._rules.session_of(connection)
        entry = {
            "at": time.time(),
            "dir": direction,
            "session": session.info["id"] if session else frame.get("sessionId"),
            "name": self._names.get(connection, ""),
            "frame": frame,
        }
        with self.log.open("a") as log:
            log.write(json.dumps(entry) + "\n")


BROKEN = {
    Fault.LOSE: b"",
    Fault.GARBAGE: struct.pack(">I", 9) + b"<garbage>",
    Fault.OVERSIZE: struct.pack(">I", LIMIT + 1) + b"{",
    Fault.HALF: struct.pack(">I", 100) + b'{"type":"registe',
}


class _Bucket:
    def __init__(self) -> None:
        self._tokens, self._filled_at = float(RATE_CAPACITY), time.monotonic()

    def take(self) -> bool:
        now = time.monotonic()
        self._tokens = min(RATE_CAPACITY, self._tokens + (now - self._filled_at) * RATE_PER_SECOND)
        self._filled_at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
