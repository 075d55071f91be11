"""The line to the extension: questions and answers, what comes in between, junk, silence, the end."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strawboss.pi.link import LINE_LIMIT, ExtensionGoneError, Link, Refused
from strawboss.pi.protocol import Message, State
from strawboss.recovery.verdict import Unknown


class Wire:
    """An extension on a clock of its own: each read gives the next chunk, or lets the time pass."""

    def __init__(self, *chunks: bytes | None) -> None:
        self.chunks = list(chunks)
        self.now = 0.0
        self.written: list[dict[str, Any]] = []
        self.heard: list[Message] = []
        self.junk: list[str] = []
        self.link = Link(self.read, self.write, self.heard.append, self.junk.append, lambda: self.now)

    def read(self, seconds: float) -> bytes | None:
        chunk = self.chunks.pop(0) if self.chunks else None
        if chunk is None:
            self.now += seconds
        return chunk

    def write(self, line: bytes) -> None:
        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1
        self.written.append(json.loads(line))

    def asks(self, shape: type[Any] = State, seconds: float = 5.0) -> Any:
        return self.link.ask("session.state", {}, shape, seconds)


def line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


STATE = {"idle": True, "compacting": False}


def test_an_answer_is_matched_by_its_number() -> None:
    wire = Wire(line(id=7, result=STATE), line(id=1, result={"idle": False, "compacting": False}))
    assert wire.asks() == State(idle=False, compacting=False)
    assert wire.written == [{"jsonrpc": "2.0", "id": 1, "method": "session.state", "params": {}}]
    assert wire.junk == ["an answer came that nobody waits for"]


def test_a_late_answer_is_not_taken_for_the_next_question() -> None:
    wire = Wire(None)
    assert isinstance(wire.asks(), Unknown)
    wire.chunks = [line(id=1, result=STATE), line(id=2, result={"idle": False, "compacting": True})]
    assert wire.asks() == State(idle=False, compacting=True)


def test_silence_is_unknown_after_the_time() -> None:
    wire = Wire()
    assert wire.asks(seconds=3.0) == Unknown("the extension did not answer session.state in time")
    assert wire.now == 3.0


def test_a_flood_of_junk_does_not_prolong_the_wait() -> None:
    wire = Wire()
    wire.chunks = [None] + [b"junk\n"] * 10
    wire.asks(seconds=3.0)
    assert len(wire.chunks) == 10 or wire.now <= 6.0


def test_a_refusal_is_unknown_with_the_reason_made_fit_to_be_shown() -> None:
    wire = Wire(line(id=1, error={"code": -32000, "message": "no\nway\x1b[31m" + "!" * 1000}))
    refused = wire.asks()
    assert isinstance(refused, Refused)
    assert "no way [31m!" in refused.why
    assert len(refused.why) < 300


@pytest.mark.parametrize("result", [None, 3, [], {}, {"idle": "yes", "compacting": False}])
def test_an_answer_of_another_shape_is_unknown(result: Any) -> None:
    wire = Wire(line(id=1, result=result))
    answer = wire.asks()
    assert isinstance(answer, Unknown)
    assert "cannot be understood" in answer.why


def test_what_comes_while_an_answer_is_awaited_is_heard() -> None:
    wire = Wire(
        line(method="session.settled", params={}) + line(id=1, result=STATE) + line(id=9, method="status")
    )
    assert wire.asks() == State(idle=True, compacting=False)
    assert [(message.method, message.id) for message in wire.heard] == [
        ("session.settled", None),
        ("status", 9),
    ]


def test_a_wait_ends_with_its_reason() -> None:
    wire = Wire(line(method="session.entry"), line(method="session.settled"))
    wire.link.wait(60, lambda: bool(wire.heard))
    assert len(wire.heard) == 1
    assert wire.now == 0.0


@pytest.mark.parametrize("act", ["ask", "wait"])
def test_the_end_of_the_pipe_is_the_end(act: str) -> None:
    wire = Wire(line(method="session.settled"), b"")
    with pytest.raises(ExtensionGoneError):
        wire.asks() if act == "ask" else wire.link.wait(60)
    assert not isinstance(ExtensionGoneError(), Exception)


def test_a_pipe_that_cannot_be_written_is_the_end() -> None:
    wire = Wire()

    def broken(_line: bytes) -> None:
        raise BrokenPipeError

    link = Link(wire.read, broken, wire.heard.append, wire.junk.append, lambda: wire.now)
    with pytest.raises(ExtensionGoneError):
        link.ask("session.state", {}, State)


@pytest.mark.parametrize(
    "junk", [b"\n", b"nonsense\n", b"[]\n", b"3\n", b"\xff\xfe\n", b'{"id":"seven"}\n', b'{"method":3}\n']
)
def test_junk_is_ignored_and_noted(junk: bytes) -> None:
    wire = Wire(junk + line(id=1, result=STATE))
    assert wire.asks() == State(idle=True, compacting=False)
    assert len(wire.junk) == 1


def test_a_line_that_is_too_long_is_dropped_and_the_next_one_read() -> None:
    pieces = [b"x" * 400_000] * 4
    wire = Wire(*pieces, b"xx\n" + line(id=1, result=STATE))
    assert wire.asks() == State(idle=True, compacting=False)
    assert wire.junk == ["a line was too long"]
    assert len(b"".join(pieces)) > LINE_LIMIT


@given(st.data())
def test_lines_may_come_in_any_pieces(data: st.DataObject) -> None:
    stream = line(method="session.settled") + line(id=1, result=STATE)
    cuts = sorted(data.draw(st.lists(st.integers(1, len(stream) - 1), max_size=6)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True) if a < b]
    wire = Wire(*pieces)
    assert wire.asks() == State(idle=True, compacting=False)
    assert [message.method for message in wire.heard] == ["session.settled"]


@given(st.lists(st.binary(max_size=60), max_size=8))
def test_no_bytes_the_extension_could_send_raise_anything(chunks: list[bytes]) -> None:
    wire = Wire(*[chunk for chunk in chunks if chunk])
    wire.link.wait(1)


def test_what_the_callback_raises_reaches_the_loop() -> None:
    def leave(_message: Message) -> None:
        raise ExtensionGoneError

    wire = Wire(line(method="session.ended"))
    link = Link(wire.read, wire.write, leave, wire.junk.append, lambda: wire.now)
    with pytest.raises(ExtensionGoneError):
        link.wait(60)
