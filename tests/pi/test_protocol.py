"""The lines themselves."""

from __future__ import annotations

import json

import msgspec

from strawboss.pi import protocol
from strawboss.pi.protocol import Message, Started


def test_a_request_and_an_answer_are_json_rpc_one_object_a_line() -> None:
    asked = protocol.request(3, "ui.notify", {"level": "info", "text": "two\nlines"})
    answered = protocol.answer(4, ["a", "b"])
    for line in (asked, answered):
        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1
    assert json.loads(asked) == {
        "jsonrpc": "2.0",
        "id": 3,
        "method": "ui.notify",
        "params": {"level": "info", "text": "two\nlines"},
    }
    assert json.loads(answered) == {"jsonrpc": "2.0", "id": 4, "result": ["a", "b"]}


def test_a_notification_has_no_number_to_answer_to() -> None:
    said = json.loads(protocol.notification("process.looks", {"every": 15.0}))
    assert said == {"jsonrpc": "2.0", "method": "process.looks", "params": {"every": 15.0}}


def test_fields_of_a_newer_version_are_ignored_and_missing_ones_have_a_meaning() -> None:
    started = msgspec.json.decode(b'{"protocol":1,"id":"x","shiny":[1]}', type=Started)
    assert (started.file, started.dir, started.pane, started.pids) == (None, None, None, {})
    message = msgspec.json.decode(b'{"jsonrpc":"2.0","method":"status","id":1,"trace":"y"}', type=Message)
    assert (message.id, message.method) == (1, "status")
