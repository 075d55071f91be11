from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs.written import AT, entry, message, result, text

from strawboss.recovery.evidence import Entry
from strawboss.runs.entry import decode_entry


def decoded(record: dict) -> Entry:
    return decode_entry(text(record))


def call(name: str, id: str = "c1", **arguments: object) -> dict:
    return {"type": "toolCall", "id": id, "name": name, "arguments": arguments}


def test_every_entry_has_its_place_in_the_tree() -> None:
    assert decoded(entry("model_change", "p", "e", provider="x")) == Entry("e", "p", "model_change", AT)
    assert decoded(entry("label", None, "e")).parent is None


def test_an_assistant_message_tells_how_it_stopped_and_what_it_called() -> None:
    content = [
        {"type": "thinking", "thinking": "…"},
        {"type": "text", "text": "x"},
        call("bash", command="ls"),
        call("b", "c2"),
    ]
    found = decoded(
        message("assistant", content=content, stopReason="error", errorMessage="exited with code 129")
    )
    assert (found.role, found.stop_reason, found.error) == ("assistant", "error", "exited with code 129")
    assert found.calls == (("c1", "bash", ""), ("c2", "b", ""))


@pytest.mark.parametrize(
    ("arguments", "purpose"),
    [
        ({"action": "ask"}, "ask"),
        ({"reason": "need_decision"}, "need_decision"),
        ({"action": "ask", "reason": "x"}, "ask"),
        ({"action": 5, "reason": "x"}, "x"),
        ({"action": None}, ""),
        ({}, ""),
    ],
    ids=str,
)
def test_a_call_tells_its_action_or_its_reason(arguments: dict, purpose: str) -> None:
    found = decoded(message("assistant", content=[call("intercom", **arguments)]))
    assert found.calls == (("c1", "intercom", purpose),)


@pytest.mark.parametrize("arguments", [None, "text", 5, 1.5, True, ["x"]], ids=str)
def test_arguments_that_are_no_object_have_no_purpose(arguments: object) -> None:
    found = decoded(message("assistant", content=[call("intercom") | {"arguments": arguments}]))
    assert found.calls == (("c1", "intercom", ""),)


def test_a_tool_result_tells_which_call_it_answers() -> None:
    assert decoded(message("toolResult", toolCallId="c1", toolName="bash", content=[])).answers == "c1"


def test_only_an_assistant_calls_tools() -> None:
    assert decoded(message("user", content=[call("bash")])).calls == ()


def test_a_custom_message_has_its_type_and_a_custom_entry_has_none() -> None:
    assert decoded(result(kind="intercom_message")).custom_type == "intercom_message"
    assert decoded(entry("custom", customType="x")).custom_type == ""


@pytest.mark.parametrize(
    ("members", "edits"), [({"replacement": None}, "t"), ({"replacement": {"content": []}}, ""), ({}, "")]
)
def test_a_context_edit_takes_back_an_entry_only_when_it_replaces_it_by_nothing(
    members: dict, edits: str
) -> None:
    assert decoded(entry("context_edit", targetId="t", **members)).edits == edits


def test_a_member_called_message_of_another_kind_of_entry_means_nothing() -> None:
    for value in ("text", 5, ["x"], {"stopReason": "stop"}):
        assert decoded(entry("notice", message=value)).role == ""


@pytest.mark.parametrize(
    "record",
    [
        {"type": "message", "id": "e"},
        {"id": "e", "parentId": None},
        {"type": "label", "parentId": None},
        {"type": "label", "id": 5},
        {"type": "label", "id": "e", "parentId": 5},
        message("assistant", stopReason=5),
        message("assistant", content=5),
        message(""),
        entry("message", message="text"),
        [],
        None,
    ],
    ids=str,
)
def test_what_is_no_entry_is_refused(record: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_entry(json.dumps(record).encode())


@given(
    st.binary(max_size=200)
    | st.sampled_from([b"[" * 100_000, b'{"type":' * 100_000, b'{"x":' + b"[" * 100_000])
)
def test_any_bytes_raise_one_of_two_errors(line: bytes) -> None:
    with pytest.raises((ValueError, RecursionError)):
        decode_entry(line)
