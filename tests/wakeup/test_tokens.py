from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strawboss.wakeup.tokens import Listener


def assistant(text: str = "", **rest: object) -> bytes:
    message = {"role": "assistant", "content": [{"type": "text", "text": text}], "stopReason": "stop", **rest}
    return json.dumps({"type": "message_end", "message": message}).encode()


def heard(*lines: bytes) -> Listener:
    listener = Listener()
    for line in lines:
        listener.hear(line)
    return listener


def test_tokens_are_counted_once_for_each_answer_of_the_model() -> None:
    usage = {"input": 10, "output": 5, "cacheRead": 1, "cacheWrite": 2, "totalTokens": 18}
    turn_end = json.dumps({"type": "turn_end", "message": {"role": "assistant", "usage": usage}}).encode()
    user = json.dumps({"type": "message_end", "message": {"role": "user", "usage": usage}}).encode()
    assert heard(assistant(usage=usage), turn_end, user, assistant(usage=usage)).tokens == 36


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"input": 10, "output": 5}, 15),
        ({"totalTokens": 0}, 0),
        ({"totalTokens": -5}, 0),
        ({"totalTokens": 1.5}, 0),
        ({"totalTokens": True}, 0),
        ({"totalTokens": "many"}, 0),
        ({"totalTokens": 2**60}, 0),
        ({"input": None, "output": 5}, 5),
        ([], 0),
        (None, 0),
    ],
)
def test_a_usage_that_makes_no_sense_counts_nothing(usage: object, tokens: int) -> None:
    assert heard(assistant(usage=usage)).tokens == tokens


def test_the_answer_is_the_last_thing_the_model_said() -> None:
    assert heard(assistant("first"), b"noise", assistant(""), assistant("last")).answer == "last"


def test_the_answer_of_a_command_that_is_not_pi_is_the_end_of_its_output() -> None:
    listener = heard(*(f"line {number}".encode() for number in range(100)), b"", b"  ")
    assert listener.answer.splitlines() == [f"line {number}" for number in range(60, 100)]
    assert listener.activity == "line 99"


def test_an_error_of_the_model_is_a_failure_until_an_answer_follows() -> None:
    error = assistant(stopReason="error", errorMessage="no quota")
    assert heard(error).failure == "no quota"
    assert heard(error, assistant("better")).failure is None
    assert heard(assistant(stopReason="aborted")).failure == "aborted"


@pytest.mark.parametrize(
    ("tool", "arguments", "activity"),
    [
        ("write", {"path": "processed/report.md"}, "writing to processed/report.md"),
        ("edit", {"path": "a.py"}, "editing a.py"),
        ("read", {"path": "a.py"}, "reading a.py"),
        ("bash", {"command": "echo the secret"}, "running bash"),
        ("write", {"path": 7}, "running write"),
        ("write", None, "running write"),
        (None, {}, "running a tool"),
        ("x" * 500, {}, "running " + "x" * 191 + "…"),
    ],
)
def test_the_activity_is_the_tool_that_runs(tool: object, arguments: object, activity: str) -> None:
    line = json.dumps({"type": "tool_execution_start", "toolName": tool, "args": arguments}).encode()
    assert heard(line).activity == activity


@given(st.lists(st.binary(max_size=60) | st.text().map(str.encode)))
def test_nothing_a_command_may_print_breaks_the_listener(lines: list[bytes]) -> None:
    assert heard(*lines).tokens == 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(["message_end", "tool_execution_start"]), JSON, JSON)
def test_an_event_of_any_shape_is_survived(kind: str, message: object, arguments: object) -> None:
    event = {"type": kind, "message": message, "toolName": message, "args": arguments}
    assert heard(json.dumps(event).encode()).tokens >= 0


def test_json_that_is_no_event_is_a_plain_line() -> None:
    for line in (b'{"a": 1}', b'{"type": 3}', b"{broken", b"[" * 100_000, b'{"type":' + b"[" * 5000):
        assert heard(line).answer == line.decode()
