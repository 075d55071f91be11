import pytest
from heartbeat.given import NOW, ago, content
from hypothesis import given, strategies

from strawboss.heartbeat.record import (
    LONGEST_MESSAGE,
    PHASES,
    TERMINAL_STATES,
    WAIT_KINDS,
    Beat,
    examine,
    one_line,
)
from strawboss.system.json_files import Broken, decode_object, encode

THIRTY_MINUTES = 1800.0


def judged(stem="leaf-7", stale_after=THIRTY_MINUTES, **changes):
    return examine(f"{stem}.json", stem, content(**changes), NOW, stale_after)


def test_the_contracts_own_example_is_sound():
    record = judged()
    assert record.ok
    assert not record.is_stale
    assert not record.is_terminal
    assert record.age_seconds == 60


@pytest.mark.parametrize("field", ["agent_id", "parent_id", "last_heartbeat_at", "last_message", "phase"])
def test_each_required_field_is_required(field):
    assert judged(**{field: ...}).failures == (f"missing {field}",)


@pytest.mark.parametrize("field", ["agent_id", "parent_id", "last_heartbeat_at", "last_message", "phase"])
@pytest.mark.parametrize("value", [None, 1, True, [], {}])
def test_each_required_field_is_a_string(field, value):
    assert f"not a string: {field}" in judged(**{field: value}).failures


def test_all_missing_fields_are_named_in_one_failure_and_those_that_parse_are_reported():
    record = judged(phase=..., last_message=...)
    assert record.failures == ("missing last_message, phase",)
    assert record.parent_id == "run-42"


def test_foreign_field_names_are_malformed():
    record = examine(
        "a.json", "a", {"agentId": "a", "updatedAt": ago(1), "status": "running"}, NOW, THIRTY_MINUTES
    )
    assert not record.ok


@pytest.mark.parametrize("phase", PHASES)
def test_every_canonical_phase_is_accepted(phase):
    assert judged(phase=phase, terminal_state="CLEAN" if phase == "terminal" else None).ok


@pytest.mark.parametrize("phase", ["poling", "Polling", "", "idle"])
def test_no_other_phase_is(phase):
    assert judged(phase=phase).failures[0].startswith("unknown phase")


def test_phase_terminal_without_a_state_is_malformed():
    assert judged(phase="terminal").failures == ("phase terminal without a terminal_state",)


@pytest.mark.parametrize("state", TERMINAL_STATES)
def test_each_state_word_ends_a_record_also_in_another_phase(state):
    record = judged(terminal_state=state, last_heartbeat_at=ago(hours=2))
    assert record.is_terminal
    assert not record.is_stale
    assert record.ok


@pytest.mark.parametrize("state", [None, "", 0, 1, [], False])
def test_what_is_no_state_word_ends_nothing(state):
    assert not judged(terminal_state=state).is_terminal


@pytest.mark.parametrize("state", ["succeeded", "clean", "", 42, 0, True, [], {}])
def test_any_other_state_is_malformed_and_proves_no_death_however_old(state):
    record = judged(terminal_state=state, last_heartbeat_at=ago(hours=2))
    assert "terminal_state" in record.failures[0]
    assert not record.is_stale


@pytest.mark.parametrize(("seconds", "stale"), [(1799, False), (1800, False), (1801, True)])
def test_exactly_thirty_minutes_is_still_fresh(seconds, stale):
    assert judged(last_heartbeat_at=ago(seconds)).is_stale is stale


@pytest.mark.parametrize(("seconds", "sound"), [(60, True), (120, True), (121, False), (86400, False)])
def test_more_than_two_minutes_in_the_future_is_malformed(seconds, sound):
    record = judged(last_heartbeat_at=ago(-seconds))
    assert record.ok is sound
    assert not record.is_stale


@pytest.mark.parametrize(
    "text", ["2026-10-03T11:00:00+00:00", " 2026-10-03T11:00:00Z", "2026-10-03T11:00:00Z\n"]
)
def test_a_utc_time_in_another_form_than_the_contracts_is_malformed_and_keeps_its_age(text):
    record = judged(last_heartbeat_at=text)
    assert "ISO-8601 UTC" in record.failures[0]
    assert record.age_seconds == 3600
    assert record.is_stale


@pytest.mark.parametrize("text", ["2026-10-03T12:00:00+02:00", "2026-10-03T12:00:00", "", "yesterday"])
def test_a_time_that_is_not_utc_is_malformed_and_never_stale(text):
    record = judged(last_heartbeat_at=text)
    assert "ISO-8601 UTC" in record.failures[0]
    assert record.age_seconds is None
    assert not record.is_stale
    assert record.last_heartbeat_at == text


def test_an_agent_id_must_be_the_file_name():
    assert "agent_id mismatch" in judged(stem="leaf-8").failures[0]
    assert "agent_id mismatch" in judged(stem="LEAF-7").failures[0]


@pytest.mark.parametrize("kind", WAIT_KINDS)
def test_every_wait_kind_is_accepted(kind):
    assert judged(wait_kind=kind).ok


@pytest.mark.parametrize("kind", ["vibes", None, "", 3, ["idle"], {}])
def test_no_other_wait_kind_is_not_even_null(kind):
    assert "wait_kind" in judged(wait_kind=kind).failures[0]


@pytest.mark.parametrize("sha", [None, "abc123", " abc123 "])
def test_a_head_may_be_null_or_text(sha):
    record = judged(head_sha=sha)
    assert record.ok
    assert record.head_sha == (sha.strip() if sha else None)


@pytest.mark.parametrize("sha", ["", "  ", 7, False, []])
def test_a_head_is_nothing_else(sha):
    assert "head_sha" in judged(head_sha=sha).failures[0]


@pytest.mark.parametrize(
    ("value", "number"),
    [(77, 77), (77.0, 77), (1e3, 1000), (None, None)],
)
def test_a_pull_request_number_is_an_integer_or_null(value, number):
    record = judged(pr_number=value)
    assert record.ok
    assert record.pr_number == number


@pytest.mark.parametrize("value", [True, "77", "", 1.5, 1e300, [], {}, -3, 0])
@pytest.mark.parametrize("field", ["pr_number", "pid"])
def test_a_pull_request_number_is_nothing_else_nor_is_a_pid(field, value):
    record = judged(**{field: value})
    assert record.failures == (f"{field} {value!r} is neither null nor an integer above zero",)
    assert getattr(record, field) is None


@pytest.mark.parametrize("parent", ["", " ", "\n"])
def test_a_parent_is_not_empty(parent):
    assert judged(parent_id=parent).failures == ("parent_id is empty",)


@pytest.mark.parametrize("message", ["", "x", "x" * 200, "x" * 250])
def test_a_message_of_about_two_hundred_characters_is_sound(message):
    assert judged(last_message=message).ok


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("x" * 251, "last_message has 251 characters; about 200 are allowed"),
        ("x" * 900, "last_message has 900 characters; about 200 are allowed"),
        *((f"one{end}two", "last_message is more than one line") for end in ("\n", "\r", "\u2028", "\x85")),
        ("one\n", "last_message is more than one line"),
    ],
)
def test_a_longer_one_or_more_than_one_line_is_not(message, why):
    assert judged(last_message=message).failures == (why,)


@pytest.mark.parametrize("value", [5, True, [], {}])
def test_an_incarnation_is_text_or_null(value):
    assert judged(incarnation=value).failures == (f"incarnation {value!r} is neither null nor a string",)
    assert judged(incarnation="5").ok
    assert judged(incarnation=None).ok


@pytest.mark.parametrize("value", ["text", 7, None, [], True])
def test_extra_is_an_object(value):
    assert judged(extra=value).failures == ("extra is not an object",)


@given(strategies.dictionaries(strategies.text(), strategies.integers() | strategies.text()))
def test_extra_is_opaque(extra):
    assert judged(extra=extra).ok


def test_failures_come_in_the_documented_order():
    record = examine(
        "a.json",
        "a",
        content(
            agent="b",
            parent_id=...,
            last_message=3,
            wait_kind="vibes",
            head_sha="",
            last_heartbeat_at="noon",
            phase="poling",
        ),
        NOW,
        THIRTY_MINUTES,
    )
    starts = (
        "missing",
        "not a string",
        "unknown wait_kind",
        "head_sha",
        "agent_id mismatch",
        "last_heartbeat_at",
        "unknown phase",
    )
    assert [failure.startswith(start) for failure, start in zip(record.failures, starts, strict=True)] == [
        True
    ] * 7


def test_a_broken_file_is_one_failure():
    assert examine("a.json", "a", Broken("unreadable: no"), NOW, 1800).failures == ("unreadable: no",)


ANYTHING = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers()
    | strategies.floats()
    | strategies.text(),
    lambda inner: (
        strategies.lists(inner, max_size=3) | strategies.dictionaries(strategies.text(), inner, max_size=3)
    ),
    max_leaves=5,
)
FIELDS = [
    "agent_id",
    "parent_id",
    "last_heartbeat_at",
    "last_message",
    "phase",
    "terminal_state",
    "pr_number",
    "wait_kind",
    "head_sha",
    "extra",
    "pid",
    "incarnation",
]


@given(strategies.dictionaries(strategies.sampled_from(FIELDS), ANYTHING))
def test_no_content_raises_and_stale_terminal_and_ok_exclude_each_other(fields):
    record = examine("a.json", "a", fields, NOW, THIRTY_MINUTES)
    assert not (record.is_stale and record.is_terminal)
    assert not (record.is_stale and record.ok)


BEATS = strategies.builds(
    lambda phase, **rest: Beat(
        "leaf-7", phase=phase, terminal_state="CLEAN" if phase == "terminal" else None, **rest
    ),
    parent_id=strategies.text(min_size=1).filter(str.strip),
    phase=strategies.sampled_from(PHASES),
    message=strategies.text().map(one_line),
    pr_number=strategies.none() | strategies.integers(1, 10**6),
    wait_kind=strategies.none() | strategies.sampled_from(WAIT_KINDS),
    head_sha=strategies.none() | strategies.text(),
    extra=strategies.dictionaries(strategies.text(), strategies.text(), max_size=3),
)


@given(BEATS)
def test_whatever_a_writer_may_write_a_reader_finds_sound(beat):
    written = decode_object(encode(beat.content(NOW)))
    record = examine("leaf-7.json", "leaf-7", written, NOW, THIRTY_MINUTES)
    assert record.ok
    assert record.phase == beat.phase
    assert record.last_message == beat.message.encode("utf-8", "replace").decode()
    assert len(record.last_message) <= LONGEST_MESSAGE


def test_a_writer_leaves_out_keys_it_has_no_value_for():
    assert set(Beat("a", "p", "starting", "x").content(NOW)) == {
        "agent_id",
        "parent_id",
        "last_heartbeat_at",
        "last_message",
        "phase",
        "terminal_state",
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"agent_id": "../x"},
        {"parent_id": " "},
        {"phase": "poling"},
        {"phase": "terminal"},
        {"terminal_state": "CLEAN"},
        {"phase": "terminal", "terminal_state": "DONE"},
        {"wait_kind": "vibes"},
        {"pr_number": 0},
        {"pr_number": -3},
        {"pr_number": "12"},
        {"parent_id": ""},
        {"message": "x" * 201},
        {"message": "one\ntwo"},
        {"message": "one\n"},
    ],
)
def test_a_writer_is_told_in_one_line_what_it_may_not_write(wrong):
    with pytest.raises(ValueError, match=r"\w") as complaint:
        Beat(**{"agent_id": "a", "parent_id": "p", "phase": "polling", "message": "x"} | wrong)
    assert "\n" not in str(complaint.value)
