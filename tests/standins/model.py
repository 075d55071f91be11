"""A loopback model that speaks OpenAI's streaming chat completions and answers what a test's script says.

A script is a function from `Request` to an answer. `instructed`, the default, does what the prompt tells it,
one line a turn: `CALL tool {json}`, `SLEEP seconds`, `SAY text`. `rules` puts patterns of a test before it.
"""

from __future__ import annotations

import itertools
import json
import re
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

INSTRUCTION = re.compile(
    r"^(?:CALL (?P<tool>\S+) (?P<arguments>\{.*\})|SLEEP (?P<seconds>[\d.]+)|SAY (?P<text>.+))$"
)


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Calls:
    """Several tool calls in one answer; pi runs them in parallel."""

    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Hang:
    """The stream opens and says nothing until `Model.release`; then `then`."""

    then: Text | Call | Calls = Text("released")


@dataclass(frozen=True, slots=True)
class Fail:
    status: int = 500
    message: str = "the model is scripted to fail"


Answer = Text | Call | Calls | Hang | Fail


@dataclass(frozen=True, slots=True)
class Request:
    """One turn's request. `messages` as sent; a custom message of pi comes as role `user`."""

    messages: tuple[dict[str, Any], ...]
    tools: tuple[str, ...] = ()

    @property
    def last(self) -> str:
        """The text of the newest message that is not the model's own: a user's, a tool's."""
        return next((text_of(m) for m in reversed(self.messages) if m["role"] in {"user", "tool"}), "")

    @property
    def prompt(self) -> str:
        """The text of the newest user message."""
        return next((text_of(m) for m in reversed(self.messages) if m["role"] == "user"), "")

    @property
    def results(self) -> int:
        """How many tool results have come since the newest user message."""
        newest_first = itertools.takewhile(lambda m: m["role"] != "user", reversed(self.messages))
        return sum(m["role"] == "tool" for m in newest_first)


Script = Callable[[Request], Answer]


def text_of(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def instructed(request: Request) -> Answer:
    steps = [match for line in request.prompt.splitlines() if (match := INSTRUCTION.match(line.strip()))]
    return _step(steps[request.results]) if request.results < len(steps) else Text("done")


def _step(match: re.Match[str]) -> Answer:
    if match["tool"]:
        return Call(match["tool"], json.loads(match["arguments"]))
    if match["seconds"]:
        return Call(
            "bash", {"command": f"sleep {match['seconds']}", "timeout": int(float(match["seconds"])) + 60}
        )
    return Text(match["text"])


def rules(pairs: Iterable[tuple[str, Answer | Script]], otherwise: Script = instructed) -> Script:
    """The answer beside the first pattern found in the newest message; else `otherwise` decides."""
    table = [(re.compile(pattern), answer) for pattern, answer in pairs]

    def script(request: Request) -> Answer:
        found = next((answer for pattern, answer in table if pattern.search(request.last)), otherwise)
        return found(request) if callable(found) else found

    return script


class Model:
    """`with Model(log) as model:` serves at `model.url`; `log` gets every request, one JSON a line."""

    def __init__(self, log: Path, script: Script = instructed) -> None:
        self.log, self.script = log, script
        self._requests: list[Request] = []
        self._came = threading.Condition()
        self._released = threading.Event()
        self._calls = itertools.count(1)
        handler = type("Handler", (_Handler,), {"model": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        # Closing the server waits for the answers under way, so that no socket outlives a test.
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def requests(self) -> tuple[Request, ...]:
        with self._came:
            return tuple(self._requests)

    def start(self) -> Model:
        self._thread.start()
        return self

    def stop(self) -> None:
        self.release()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Model:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def release(self) -> None:
        """Every answer that hangs, now or later, goes on."""
        self._released.set()

    def wait_for(self, wanted: Callable[[Request], bool], *, count: int = 1, seconds: float = 60) -> Request:
        """The `count`-th request that is `wanted`; raises TimeoutError."""

        def found() -> list[Request]:
            return [request for request in self._requests if wanted(request)]

        with self._came:
            if not self._came.wait_for(lambda: len(found()) >= count, seconds):
                raise TimeoutError(f"{len(found())} of {count} such requests, {len(self._requests)} in all")
            return found()[count - 1]

    def answer(self, body: dict[str, Any]) -> Answer:
        """Records the request and asks the script."""
        tools = tuple(tool["function"]["name"] for tool in body.get("tools", []))
        request = Request(tuple(body["messages"]), tools)
        answer = self.script(request)
        with self._came:
            with self.log.open("a") as log:
                log.write(json.dumps({"at": time.time(), "answer": repr(answer), "request": body}) + "\n")
            self._requests.append(request)
            self._came.notify_all()
        return answer

    def spoken(self, answer: Text | Call | Calls) -> list[dict[str, Any]]:
        """The answer as the `delta`s of a stream."""
        if isinstance(answer, Text):
            return [{"content": answer.text}]
        calls = answer.calls if isinstance(answer, Calls) else (answer,)
        return [{"tool_calls": [self._tool_call(index, call)]} for index, call in enumerate(calls)]

    def _tool_call(self, index: int, call: Call) -> dict[str, Any]:
        function = {"name": call.tool, "arguments": json.dumps(call.arguments)}
        return {"index": index, "id": f"call_{next(self._calls)}", "type": "function", "function": function}

    def wait_until_released(self) -> None:
        self._released.wait()


class _Handler(BaseHTTPRequestHandler):
    model: Model
    timeout = 10  # seconds for a request to come; a connection that stays silent must not hold up `stop`

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = self.model.answer(body)
        try:
            self._fail(answer) if isinstance(answer, Fail) else self._stream(answer)
        except ConnectionError:
            self.close_connection = True  # pi aborted the turn or was killed

    def _fail(self, answer: Fail) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps({"error": {"message": answer.message}}).encode())

    def _stream(self, answer: Text | Call | Calls | Hang) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self._chunk({"role": "assistant", "content": ""})
        if isinstance(answer, Hang):
            self.model.wait_until_released()
            answer = answer.then
        for delta in self.model.spoken(answer):
            self._chunk(delta)
        self._chunk({}, "stop" if isinstance(answer, Text) else "tool_calls")
        self.wfile.write(b"data: [DONE]\n\n")

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> None:
        chunk: dict[str, Any] = {
            "id": "c1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "fake-1",
        }
        chunk["choices"] = [{"index": 0, "delta": delta, "finish_reason": finish}]
        if finish:
            chunk["usage"] = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())

    def log_message(self, format: str, *args: object) -> None:
        """Silent: what was asked is in the model's own log."""
