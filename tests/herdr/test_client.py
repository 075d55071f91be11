import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strawboss.herdr.address import Address
from strawboss.herdr.client import CLOSE_OUTCOMES, Herdr, Version
from strawboss.recovery.commands import Outcome, Result
from strawboss.recovery.evidence import Pane, Process
from strawboss.recovery.verdict import Unknown

FACTS = json.loads((Path(__file__).parents[2] / "fixtures/herdr/socket.json").read_text())
SESSION = {"source": "herdr:pi", "agent": "pi", "kind": "path", "value": "/s/a.jsonl"}
PANE = {
    "pane_id": "w1:p1",
    "terminal_id": "term_1",
    "agent": "pi",
    "agent_status": "idle",
    "agent_session": SESSION,
}
NO_SUCH_PANE = {"error": {"code": "pane_not_found", "message": "pane w1:p1 not found"}}


class Channel:
    """herdr in memory: answers the request with what the test gives, under the request's id unless it says another."""

    def __init__(self, reply):
        self.requests, self._reply = [], reply

    def __call__(self, address, seconds):
        return self

    def send(self, line, seconds):
        self.requests.append(json.loads(line))

    def receive(self, limit, seconds):
        if isinstance(self._reply, Exception):
            raise self._reply
        if isinstance(self._reply, bytes):
            return self._reply
        return json.dumps({"id": self.requests[-1]["id"], **self._reply}).encode() + b"\n"

    def close(self):
        pass


def herdr(reply, resolve=lambda path: path):
    return Herdr(Address("/unused"), connect=Channel(reply), resolve=resolve)


def refusing(address, seconds):
    raise ConnectionRefusedError(111, "Connection refused")


def unreachable():
    return Herdr(Address("/unused"), connect=refusing)


def listing(*panes):
    return herdr({"result": {"type": "pane_list", "panes": list(panes)}})


def processes(**info):
    return herdr({"result": {"type": "pane_process_info", "process_info": {"pane_id": "w1:p1", **info}}})


READS = {
    "ping": lambda client: client.ping(),
    "panes": lambda client: client.panes(),
    "process_info": lambda client: client.process_info("w1:p1"),
}
BAD_REPLIES = {
    "another request's reply": {"id": "another", "result": {"type": "ok"}},
    "neither result nor error": {},
    "both a result and an error": {"result": {"type": "ok"}, "error": {"code": "invalid_request"}},
    "a result of another kind": {"result": {"type": "something_else"}},
    "no result object": {"result": 7},
    "an id that is no text": {"id": 1, "result": {"type": "ok"}},
    "an error without a code": {"error": {}},
    "garbage": b"\x00\xff\n",
    "an empty line": b"\n",
    "an empty id with another error": {"id": "", "error": {"code": "internal_error"}},
    "a lost connection": ConnectionResetError(104, "Connection reset by peer"),
    "silence": TimeoutError(),
}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("reply", BAD_REPLIES)
def test_a_read_that_gets_no_good_reply_is_unknown_and_says_why(read, reply):
    answer = READS[read](herdr(BAD_REPLIES[reply]))
    assert isinstance(answer, Unknown)
    assert "herdr" in answer.why


@pytest.mark.parametrize("reply", BAD_REPLIES)
def test_a_close_that_gets_no_good_reply_may_have_happened(reply):
    assert herdr(BAD_REPLIES[reply]).close("w1:p1").outcome is Outcome.UNKNOWN


@pytest.mark.parametrize("read", READS)
def test_a_read_of_an_absent_herdr_is_unknown(read):
    assert READS[read](unreachable()) == Unknown("herdr cannot be reached: Connection refused")


def test_a_close_that_could_not_be_asked_for_has_not_happened():
    assert unreachable().close("w1:p1") == Result(
        Outcome.FAILED, "herdr cannot be reached: Connection refused"
    )


def test_a_request_has_an_id_of_its_own_and_its_parameters():
    channel = Channel({"result": {"type": "ok"}})
    client = Herdr(Address("/unused"), connect=channel)
    client.ping(), client.panes(), client.process_info("w1:p2"), client.close("w1:p3")
    assert [(one["method"], one["params"]) for one in channel.requests] == [
        ("ping", {}),
        ("pane.list", {}),
        ("pane.process_info", {"pane_id": "w1:p2"}),
        ("pane.close", {"pane_id": "w1:p3"}),
    ]
    assert len({one["id"] for one in channel.requests}) == 4


def test_a_ping_tells_version_and_protocol():
    reply = next(fact["reply"] for fact in FACTS if fact["request"]["method"] == "ping")
    assert herdr({"result": reply["result"]}).ping() == Version("0.8.0", 20)


def test_a_pane_has_the_fields_the_core_reads():
    assert listing(PANE).panes() == (Pane("w1:p1", "term_1", "pi", "idle", "/s/a.jsonl"),)


def test_a_plain_shell_has_no_agent_and_no_session():
    assert listing({"pane_id": "w1:p1", "agent_status": "unknown"}).panes() == (
        Pane("w1:p1", None, None, "unknown", None),
    )


def test_no_panes_at_all_is_an_answer():
    assert listing().panes() == ()


def test_one_pane_listed_twice_is_a_contradiction():
    assert listing(PANE, PANE).panes() == Unknown("herdr lists one pane twice")


@pytest.mark.parametrize(
    "foreign",
    [
        {"source": "user:me"},
        {"agent": "claude"},
        {"kind": "id"},
        {"kind": "url"},
        {"value": ""},
        {"source": ""},
    ],
)
def test_only_the_session_path_pi_reported_through_herdrs_integration_counts(foreign):
    (pane,) = listing(PANE | {"agent_session": SESSION | foreign}).panes()
    assert pane.session is None


def test_a_session_path_is_resolved():
    client = herdr({"result": {"type": "pane_list", "panes": [PANE]}}, resolve=lambda path: "/real" + path)
    assert client.panes()[0].session == "/real/s/a.jsonl"


def test_a_session_path_that_cannot_be_resolved_names_no_session():
    panes = [PANE | {"agent_session": SESSION | {"value": "/a\0b"}}]
    reply = {"result": {"type": "pane_list", "panes": panes}}
    client = Herdr(Address("/unused"), connect=Channel(reply))
    assert client.panes()[0].session is None


def test_while_it_cannot_be_told_which_session_a_pane_is_on_nothing_is_known_of_any():
    """It might be a second pi on the launcher's own session."""

    def resolve(path):
        raise PermissionError(13, "Permission denied")

    client = herdr({"result": {"type": "pane_list", "panes": [PANE]}}, resolve=resolve)
    assert client.panes() == Unknown("a pane's session file cannot be looked for: Permission denied")


def test_processes_are_told_as_herdr_tells_them():
    assert processes(
        foreground_processes=[
            {"pid": 7, "name": "bash", "argv": ["bash", "/s/zeta-1.sh"], "cmdline": "bash /s/zeta-1.sh"},
            {"pid": 8, "argv0": "pi"},
        ]
    ).process_info("w1:p1") == (
        Process(7, "bash", None, ("bash", "/s/zeta-1.sh")),
        Process(8, None, "pi", None),
    )


@pytest.mark.parametrize("info", [{}, {"shell_pid": 7}, {"foreground_processes": []}])
def test_a_process_list_that_is_left_out_or_empty_is_unknown(info):
    assert processes(**info).process_info("w1:p1") == Unknown("herdr does not list its processes")


def test_another_panes_processes_are_unknown():
    assert processes(foreground_processes=[{"pid": 7}]).process_info("w1:p2") == Unknown(
        "herdr told of another pane's processes"
    )


def test_a_pane_without_a_terminal_yet_has_unknown_processes():
    assert herdr(NO_SUCH_PANE).process_info("w1:p1") == Unknown("herdr refused: pane_not_found")


def test_a_close_herdr_confirms_is_done():
    assert herdr({"result": {"type": "ok"}}).close("w1:p1") == Result(Outcome.DONE)


def test_closing_a_pane_that_is_not_there_is_done():
    assert herdr(NO_SUCH_PANE).close("w1:p1") == Result(Outcome.DONE, "the pane is already gone")


@pytest.mark.parametrize(("code", "outcome"), CLOSE_OUTCOMES.items())
def test_every_error_code_of_a_close_has_its_outcome(code, outcome):
    assert herdr({"error": {"code": code, "message": "m"}}).close("w1:p1").outcome is outcome


def test_only_what_herdr_refuses_beforehand_has_surely_not_happened():
    unsure = {code for code, outcome in CLOSE_OUTCOMES.items() if outcome is Outcome.UNKNOWN}
    assert unsure == {"pane_send_failed", "timeout", "handoff_failed", "server_unavailable", "internal_error"}


def test_an_error_code_nobody_knows_may_have_happened():
    assert herdr({"error": {"code": "new_one"}}).close("w1:p1") == Result(
        Outcome.UNKNOWN, "herdr refused: new_one"
    )


def test_a_request_herdr_cannot_parse_is_refused_under_an_empty_id():
    reply = {"id": "", "error": {"code": "invalid_request", "message": "m"}}
    assert herdr(reply).close("w1:p1") == Result(Outcome.FAILED, "herdr refused: invalid_request")
    assert herdr(reply).panes() == Unknown("herdr refused: invalid_request")


@given(st.text())
def test_an_error_code_is_shown_short_and_without_control_characters(code):
    why = herdr({"error": {"code": code}}).panes().why
    assert re.fullmatch(r"herdr refused: .{0,64}", why)
    assert why.isprintable()


def test_a_real_connection_carries_a_whole_request(listen):
    def answer(connection):
        request = json.loads(connection.recv(4096))
        reply = {"id": request["id"], "result": {"type": "pane_list", "panes": [PANE]}}
        connection.sendall(json.dumps(reply).encode() + b"\n")

    assert Herdr(listen(answer)).panes() == (Pane("w1:p1", "term_1", "pi", "idle", "/s/a.jsonl"),)


# -- what the plugin asks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["shown", "disabled", "busy", "no_foreground_client"])
def test_a_notification_says_whether_it_was_shown_and_why_not(reason):
    shown = {"type": "notification_show", "shown": reason == "shown", "reason": reason}
    assert herdr({"result": shown}).notify("1 run recovered") == reason


def test_a_notification_nobody_answers_is_unknown():
    assert isinstance(unreachable().notify("1 run recovered"), Unknown)


@pytest.mark.parametrize(
    ("reply", "result"),
    [
        ({"result": {"type": "ok"}}, Result(Outcome.DONE)),
        ({"result": {"type": "plugin_pane_opened", "plugin_pane": {}}}, Result(Outcome.DONE)),
        (
            {"error": {"code": "ui_busy", "message": "in a menu"}},
            Result(Outcome.FAILED, "herdr refused: ui_busy"),
        ),
        (b"", Result(Outcome.UNKNOWN, "herdr hung up without a reply")),
    ],
)
def test_a_pane_of_a_plugin_is_open_refused_or_nobody_knows(reply, result):
    assert herdr(reply).open_pane("strawboss", "status", "popup") == result


def test_a_pane_of_a_plugin_is_asked_for_in_front():
    channel = Channel({"result": {"type": "ok"}})
    Herdr(Address("/unused"), connect=channel).open_pane("strawboss", "status", "popup")
    assert channel.requests[0]["params"] == {
        "plugin_id": "strawboss",
        "entrypoint": "status",
        "placement": "popup",
        "focus": True,
    }
