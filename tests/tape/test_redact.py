"""What decides is kept, what names is not; what nobody has spoken about is replaced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from itertools import count
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tape.shapes import SHAPES, of

from strawboss.recovery import commands as c
from strawboss.recovery import evidence as e
from strawboss.recovery.evidence import (
    Clock,
    Entry,
    Identity,
    KeyEntry,
    Launcher,
    Pane,
    Peer,
    Process,
    Worktree,
)
from strawboss.recovery.memory import Memory, RunMemory, RunReport
from strawboss.recovery.proof import Found, Proof
from strawboss.recovery.verdict import Unknown, Verdict
from strawboss.tape.redact import RULES, START, WHOLE, Redactor, names_of_runs, own_sentences

RUN = "a1b2c3d4"
FIRST = Clock(1_800_000_000.5, 5_000.25)


@pytest.fixture
def redactor() -> Redactor:
    return Redactor(b"key", {RUN}, FIRST)


def test_times_lie_to_each_other_as_they_did(redactor: Redactor) -> None:
    assert redactor.redact(FIRST) == Clock(START + 0.5, 0.25)
    assert redactor.redact(Clock(FIRST.wall + 15.001, FIRST.monotonic + 15)) == Clock(START + 15.501, 15.25)


@pytest.mark.parametrize(
    ("at", "moved"),
    [
        ("2027-01-15T08:00:01Z", "2000-01-01T00:00:01Z"),
        ("2027-01-15T08:00:01.250Z", "2000-01-01T00:00:01.250Z"),
        ("2027-01-15T09:00:01+01:00", "2000-01-01T01:00:01+01:00"),
    ],
)
def test_a_written_time_is_moved_as_it_was_written(redactor: Redactor, at: str, moved: str) -> None:
    assert redactor.iso(at) == moved


@pytest.mark.parametrize("seconds", [1e300, -1e300, 1.7976931348623157e308])
def test_a_number_that_is_no_time_is_no_fault(redactor: Redactor, seconds: float) -> None:
    assert redactor.wall(seconds) == redactor.monotonic(seconds) == seconds


def test_what_is_no_time_is_a_text(redactor: Redactor) -> None:
    assert redactor.iso("yesterday") not in {"yesterday", ""}


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (Pane("w1:p3", "term_1", "pi", "working", "/s/x.jsonl"), {"agent": "pi", "status": "working"}),
        (Pane("w1:p3", None, "claude", "dancing", None), {"terminal": None, "session": None}),
        (Worktree("removed", "w1:p3", "/w", "feature"), {"state": "removed"}),
        (KeyEntry("gaveUp", RUN, {"why": "its pane w1:p3 stays open"}), {"key": "gaveUp"}),
        (
            Entry("a", None, "message", "x", role="assistant", stop_reason="stop"),
            {"kind": "message", "role": "assistant", "stop_reason": "stop"},
        ),
        (
            Entry("a", None, "custom_message", "x", custom_type="straw-boss"),
            {"kind": "custom_message", "custom_type": "straw-boss"},
        ),
        (
            Launcher("boss", "The Boss", "/s/b.jsonl", "/home/pi", 10, platform="darwin", tower=True),
            {"platform": "darwin", "tower": True},
        ),
        (Unknown("the extension did not answer", absent=True), {"absent": True}),
        (Unknown("nobody in pi is asked"), {"why": "nobody in pi is asked"}),
    ],
)
def test_what_decides_is_kept_and_every_other_text_is_another(
    redactor: Redactor, value: Any, kept: dict[str, Any]
) -> None:
    redacted = redactor.redact(value)
    for one in fields(value):
        before, after = getattr(value, one.name), getattr(redacted, one.name)
        if one.name in kept:
            assert after == kept[one.name]
        elif isinstance(before, str) and before:
            assert after != before


@pytest.mark.parametrize(
    ("status", "base"),
    [("idle", "idle"), ("idle · coffee", "idle · "), ("tool:bash", "tool:"), ("thinking", "thinking")],
)
def test_of_a_status_the_base_stays(redactor: Redactor, status: str, base: str) -> None:
    redacted = redactor.redact(Peer("x", 1, status)).status
    assert redacted.startswith(base)
    assert "coffee" not in redacted
    assert "bash" not in redacted


def test_of_an_error_only_a_hang_up_stays(redactor: Redactor) -> None:
    error = "at /home/pi: Claude Code process terminated by signal SIGHUP (secret)"
    redacted = redactor.redact(Entry("a", None, "message", "x", error=error)).error
    assert redacted == "Claude Code process terminated by signal SIGHUP"
    assert "secret" not in redactor.redact(Entry("a", None, "message", "x", error="secret")).error


def test_questions_stay_questions_and_other_tools_do_not_stay(redactor: Redactor) -> None:
    made = (("c1", "intercom", "ask"), ("c2", "my_tool", "delete"))
    [question, other] = redactor.redact(Entry("a", None, "message", "x", calls=made)).calls
    assert question[1:] == ("intercom", "ask")
    assert not {"my_tool", "delete", "c2"} & set(other)


def test_a_pi_stays_a_pi_and_its_arguments_do_not_stay(redactor: Redactor) -> None:
    redacted = redactor.redact(
        Process(20, name="pi", argv0=None, argv=("/home/pi/bin/pi", "--name", "secret"))
    )
    assert (redacted.name, redacted.argv[0].endswith("/pi"), redacted.pid) == ("pi", True, 1001)
    assert not any("secret" in one or "/home/" in one for one in redacted.argv)


def test_a_process_began_since_boot_or_at_a_date(redactor: Redactor) -> None:
    assert redactor.redact(Identity(1, 77.5, "boot")).started == 77.5
    assert redactor.redact(Identity(1, FIRST.wall)).started == START + 0.5


def test_what_was_warned_of_stays_and_of_whom_does_not(redactor: Redactor) -> None:
    memory = redactor.redact(
        Memory(warned=frozenset({f"key seen {RUN}", "second pi"}), keys={("seen", RUN): 2})
    )
    run = redactor.names.text(RUN)
    assert memory.warned == {f"key seen {run}", "second pi"}
    assert memory.keys == {("seen", run): 2}


def test_what_was_found_is_made_of_the_same_stand_ins(redactor: Redactor) -> None:
    found = redactor.redact(Found(FIRST.monotonic, "term_1 child-1 None"))
    assert found == Found(0.25, f"{redactor.names.text('term_1')} {redactor.names.text('child-1')} None")


def test_only_sentences_that_stand_whole_in_our_own_source_are_ours() -> None:
    assert "nobody in pi is asked" in own_sentences()


# Members whose texts are our own words: the only ones that an incident may show as they were.
OURS = {
    (Launcher, "platform"),
    (RunMemory, "machine"),
    (RunMemory, "proofs"),  # by machine; a proof is a shape of its own here
    (RunReport, "machine"),
    (RunReport, "state"),
    (Verdict, "of"),
    (Verdict, "condition"),
    (c.Notify, "level"),
    (Memory, "warned"),
}
OF_KEYS = ("at", "why", "terminal", "pane", "of a newer version")


def with_secrets(value: Any, number: Iterator[int]) -> Any:
    """The same with every text another secret."""
    if isinstance(value, str) and not isinstance(value, Enum):
        return f"secret{next(number)}"
    if isinstance(value, Mapping):
        return {with_secrets(key, number): with_secrets(one, number) for key, one in value.items()}
    if isinstance(value, tuple | frozenset | list):
        return type(value)(with_secrets(one, number) for one in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    made = {
        one.name: with_secrets(getattr(value, one.name), number)
        for one in fields(value)
        if (type(value), one.name) not in OURS
    }
    if isinstance(value, KeyEntry | c.WriteKey):
        made["data"] = {name: f"secret{next(number)}" for name in OF_KEYS}
    return replace(value, **made)


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from texts([*value.keys(), *value.values()])
    elif isinstance(value, tuple | frozenset | list):
        for one in value:
            yield from texts(one)
    elif is_dataclass(value):
        for member in fields(value):
            yield from texts(getattr(value, member.name))


@pytest.mark.parametrize("shape", [*SHAPES, Proof, *get_args(c.Command)], ids=str)
@settings(deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_text_of_any_member_stays_but_our_own_words(shape: Any, data: st.DataObject) -> None:
    value = with_secrets(data.draw(of(shape)), count())
    redacted = Redactor(b"key", {"secret0"}, FIRST).redact(value)
    assert not [text for text in texts(redacted) if "secret" in text]


def test_every_rule_is_for_a_member_there_is() -> None:
    for rules in (RULES, WHOLE):
        for shape, members in rules.items():
            assert members.keys() <= {one.name for one in fields(shape)}


def test_all_runs_that_anything_names_are_known() -> None:
    transcript = e.Transcript(
        (KeyEntry("seen", "one"),), told=frozenset({"two"}), torn_keys=frozenset({"thr*"})
    )
    assert names_of_runs([transcript, {"four": None}, Memory(), ()]) == {"one", "two", "thr*", "four"}
