"""A session on the intercom, for tests that need somebody to be there. It answers nothing but receipts."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import threading
import time
import uuid
from pathlib import Path
from typing import Any

Frame = dict[str, Any]


class IntercomPeer:
    """`with IntercomPeer(socket_path, name="child", …) as peer:`; `session` fields go into its registration."""

    def __init__(
        self, socket_path: Path, session_id: str | None = None, *, receipts: bool = True, **session: Any
    ) -> None:
        self.id = session_id or str(uuid.uuid4())
        self.frames: list[Frame] = []
        self._receipts, self._came = receipts, threading.Condition()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(str(socket_path))
        now = int(time.time() * 1000)
        own = {
            "cwd": "/",
            "model": "none",
            "pid": os.getpid(),
            "startedAt": now,
            "lastActivity": now,
            "status": "idle",
        }
        self.say({"type": "register", "sessionId": self.id, "session": own | session})
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()
        self.wait_for("registered")

    def say(self, frame: Frame) -> None:
        payload = json.dumps(frame).encode()
        self._socket.sendall(struct.pack(">I", len(payload)) + payload)

    def roster(self) -> dict[str, Frame]:
        """By id, itself included."""
        request = str(uuid.uuid4())
        self.say({"type": "list", "requestId": request})
        frame = self.wait_for("sessions", requestId=request)
        return {session["id"]: session for session in frame["sessions"]}

    def send(self, to: str, text: str) -> Frame:
        """The broker's answer to a plain send."""
        message = {"id": str(uuid.uuid4()), "timestamp": int(time.time() * 1000), "content": {"text": text}}
        self.say({"type": "send", "to": to, "message": message})
        return self.wait_for("delivered", "delivery_failed", messageId=message["id"])

    def texts(self) -> list[str]:
        """Of the messages that have come."""
        return [
            frame["message"]["content"]["text"] for frame in list(self.frames) if frame["type"] == "message"
        ]

    def wait_for(self, *types: str, seconds: float = 60, **fields: Any) -> Frame:
        def found() -> Frame | None:
            return next((f for f in self.frames if f["type"] in types and fields.items() <= f.items()), None)

        with self._came:
            if not self._came.wait_for(found, seconds):
                raise TimeoutError(f"no {types} {fields} among {[frame['type'] for frame in self.frames]}")
            return found() or {}

    def close(self) -> None:
        with contextlib.suppress(OSError):  # the broker was first
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def __enter__(self) -> IntercomPeer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _listen(self) -> None:
        with self._socket.makefile("rb") as stream:
            while header := self._read(stream, 4):
                self._take(json.loads(self._read(stream, struct.unpack(">I", header)[0])))

    def _read(self, stream: Any, size: int) -> bytes:
        try:
            return stream.read(size)
        except OSError:
            return b""

    def _take(self, frame: Frame) -> None:
        with self._came:
            self.frames.append(frame)
            self._came.notify_all()
        if frame["type"] == "message" and self._receipts:
            with contextlib.suppress(OSError):  # closed meanwhile
                self._confirm(frame["message"]["id"])

    def _confirm(self, message_id: str) -> None:
        for status in ("receiver_received", "acknowledged", "injected"):
            receipt = {"messageId": message_id, "status": status, "timestamp": time.time() * 1000}
            self.say({"type": "message_receipt", "receipt": receipt})
