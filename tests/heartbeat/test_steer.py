from contextlib import suppress

import pytest
from heartbeat.given import NOW, ack, ago, put, put_ack, put_steer, steer
from hypothesis import given, strategies

from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.steer import (
    KINDS,
    WRITER_KINDS,
    Steer,
    ack_content,
    compose,
    parse_steer,
    read_inbox,
)
from strawboss.system.json_files import Broken, decode_object, encode


def parsed(**changes):
    return parse_steer(steer(**changes), "leaf-7")


@pytest.fixture
def inbox(tmp_path):
    return lambda: read_inbox(Worktree(tmp_path).steer_directory, "leaf-7")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("writer", WRITER_KINDS)
def test_every_kind_of_steer_and_writer_is_accepted(kind, writer):
    assert isinstance(parsed(kind=kind, writer_kind=writer), Steer)


def test_a_key_of_its_own_is_refused():
    assert "'priority'" in parsed(priority="high").reason


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("schema", ["not-steer", "deft.subagent.steer.v2", None]),
        ("agent_id", ["leaf-8", "", None, 7]),
        ("steer_id", ["", " ", None, 7]),
        ("writer_id", ["", "\t", None]),
        ("written_at", ["noon", "2026-10-03T12:00:00", "2026-10-03T12:00:00+00:00", None, 7]),
        ("expires_at", ["noon", None]),
        ("writer_kind", ["owner", None, []]),
        ("kind", ["order", None, "Note"]),
        ("text", ["", "  \n", None, 7, "x" * 2001, "😀" * 1001]),
    ],
)
def test_the_schema_is_closed(field, values):
    for value in values:
        found = parsed(**{field: value})
        assert isinstance(found, Broken)
        assert field in found.reason


@pytest.mark.parametrize("agent", ["../other", "leaf-a.ack", "leaf-a.firstseen", "leaf-a.steer"])
def test_an_agent_that_could_pass_for_another_file_is_refused(agent):
    assert isinstance(parse_steer(steer(agent), agent), Broken)


def test_two_thousand_utf16_units_are_the_bound_and_are_kept_as_they_are():
    assert parsed(text=" " + "x" * 1998 + " ").text == " " + "x" * 1998 + " "
    assert isinstance(parsed(text="😀" * 1000), Steer)


@pytest.mark.parametrize(("seconds", "expired"), [(1, False), (0, True), (-1, True)])
def test_at_exactly_its_end_it_is_expired(seconds, expired):
    assert parsed(expires_at=ago(-seconds)).expired(NOW) is expired


@given(strategies.text(max_size=2100), strategies.text(), strategies.floats(min_value=1, max_value=1e6))
def test_what_a_writer_may_compose_a_reader_parses(text, writer_id, ttl):
    with suppress(ValueError):
        written = compose("leaf-7", writer_id=writer_id, kind="note", text=text, now=NOW, ttl_seconds=ttl)
        content = decode_object(encode(written.content()))
        assert parse_steer(content, "leaf-7").steer_id == written.steer_id


@pytest.mark.parametrize(
    "wrong", [{"text": "x" * 2001}, {"writer_id": " "}, {"kind": "order"}, {"steer_id": "\t"}]
)
def test_a_writer_is_told_in_one_line_what_it_may_not_compose(wrong):
    fields = {"writer_id": "p", "kind": "note", "text": "x", "now": NOW} | wrong
    with pytest.raises(ValueError, match=r"\w") as complaint:
        compose("leaf-7", **fields)
    assert "\n" not in str(complaint.value)


def test_a_lifetime_without_end_is_refused():
    with pytest.raises(ValueError, match="never ends"):
        compose("leaf-7", writer_id="p", kind="note", text="x", now=NOW, ttl_seconds=1e300)


def test_an_empty_slot_holds_nothing(inbox):
    assert (inbox().steer, inbox().pending(NOW)) == (None, None)


def test_an_unread_steer_is_pending_until_it_is_acked_or_expires(tmp_path, inbox):
    put_steer(tmp_path)
    assert inbox().pending(NOW).steer_id == "s-1"
    put_ack(tmp_path)
    assert inbox().pending(NOW) is None
    put_steer(tmp_path, steer_id="s-2", expires_at=ago(0))
    assert inbox().pending(NOW) is None


@pytest.mark.parametrize(
    ("what", "trouble"),
    [
        (b"{", "malformed JSON"),
        (ack(schema="x"), "schema"),
        (ack(acked_at="noon"), "acked_at"),
        (ack(agent_id=None), "agent_id"),
        (ack(agent_id="leaf-8"), "agent_id"),
        (ack(why="done"), "its ack is not"),
        (ack(acked_at=ago(61)), "older than the steer"),
        (ack(steer_id="s-0"), ""),
    ],
)
def test_a_broken_or_foreign_ack_means_unread_and_is_mentioned(tmp_path, inbox, what, trouble):
    put_steer(tmp_path)
    put(Worktree(tmp_path).steer_directory / "leaf-7.ack.json", what)
    assert inbox().pending(NOW) is not None
    assert trouble in inbox().ack_trouble


def test_a_broken_inbox_is_neither_empty_nor_pending(tmp_path, inbox):
    put(Worktree(tmp_path).steer_directory / "leaf-7.json", b"{not json")
    assert isinstance(inbox().steer, Broken)
    assert inbox().pending(NOW) is None


def test_an_ack_names_the_steer_it_is_for():
    assert ack_content(parsed(), NOW) == ack(acked_at=ago(0))
