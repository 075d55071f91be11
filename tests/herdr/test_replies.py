import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strawboss.herdr import replies

FACTS = json.loads((Path(__file__).parents[2] / "fixtures/herdr/socket.json").read_text())
PANE = {"pane_id": "w1:p1", "agent_status": "idle"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def read(shape, value):
    return replies.decode(json.dumps(value).encode(), shape)


def panes(*entries, **more):
    return {"type": "pane_list", "panes": list(entries), **more}


def processes(**info):
    return {"type": "pane_process_info", "process_info": {"pane_id": "w1:p1", **info}}


@pytest.mark.parametrize(
    ("method", "shape"),
    [("ping", replies.Pong), ("pane.list", replies.PaneList), ("pane.process_info", replies.PaneProcessInfo)],
)
def test_what_a_real_herdr_answered_is_read(method, shape):
    reply = next(fact["reply"] for fact in FACTS if fact["request"]["method"] == method)
    assert isinstance(read(shape, reply["result"]), shape)


def test_what_a_newer_herdr_adds_is_ignored():
    assert read(replies.PaneList, panes(PANE | {"colour": [1]}, next="page")) == read(
        replies.PaneList, panes(PANE)
    )


@pytest.mark.parametrize("absent", ["terminal_id", "agent", "agent_session"])
def test_an_optional_field_may_miss_or_be_null(absent):
    assert read(replies.PaneList, panes(PANE | {absent: None})) == read(replies.PaneList, panes(PANE))


@pytest.mark.parametrize(
    "entry",
    [
        {"agent_status": "idle"},
        {"pane_id": "w1:p1"},
        PANE | {"pane_id": ""},
        PANE | {"pane_id": 1},
        PANE | {"agent_status": None},
        PANE | {"terminal_id": 5},
        PANE | {"agent": ["pi"]},
        PANE | {"agent_session": "a.jsonl"},
        PANE | {"agent_session": {"value": 7}},
        None,
        [],
    ],
)
def test_one_wrong_entry_spoils_the_list_of_panes(entry):
    with pytest.raises(replies.UnreadableError):
        read(replies.PaneList, panes(PANE, entry))


@pytest.mark.parametrize("pid", [0, -1, 2**32, True, "7", 7.5, None])
def test_one_impossible_pid_spoils_the_list_of_processes(pid):
    with pytest.raises(replies.UnreadableError):
        read(replies.PaneProcessInfo, processes(foreground_processes=[{"pid": 7}, {"pid": pid}]))


@pytest.mark.parametrize("broken", [{"name": 1}, {"argv": "pi"}, {"argv": ["pi", 1]}, {"argv0": []}])
def test_a_process_with_a_field_of_a_wrong_type_spoils_the_list(broken):
    with pytest.raises(replies.UnreadableError):
        read(replies.PaneProcessInfo, processes(foreground_processes=[{"pid": 7} | broken]))


@pytest.mark.parametrize("kind", ["pane_info", "ok", "", None])
def test_an_answer_of_another_kind_is_no_list(kind):
    with pytest.raises(replies.UnreadableError):
        read(replies.PaneList, panes(PANE) | {"type": kind})


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"not json",
        b"\xff\xfe",
        b'{"id":"\xff","result":{}}',
        b'{"id":"\\ud800"}',
        b"[" * 100_000,
        b'{"id":"1"} x',
    ],
)
def test_a_line_that_is_no_json_is_unreadable(line):
    with pytest.raises(replies.UnreadableError, match="herdr's reply cannot be read"):
        replies.decode(line, replies.Envelope)


@given(JSON)
def test_whatever_json_comes_it_is_read_or_unreadable(value):
    for shape in (replies.Envelope, replies.PaneList, replies.PaneProcessInfo, replies.Pong, replies.Ok):
        with contextlib.suppress(replies.UnreadableError):
            assert isinstance(replies.decode(json.dumps(value).encode(), shape), shape)
