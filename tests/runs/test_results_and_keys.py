from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs.written import CHILD, entry, key, launched, message, result, resumed, text

from strawboss.recovery.evidence import KeyEntry, Resume, Transcript
from strawboss.runs.results_and_keys import KNOWN_KEYS, Findings, matters

OTHER = "/s/other.jsonl"


def read(*lines: bytes) -> Transcript:
    findings = Findings(str)
    for line in lines:
        findings.take(line)
    return findings.freeze()


def said(*records: dict) -> Transcript:
    return read(*text(*records).splitlines())


def with_content(content: object, **details: object) -> dict:
    return result(None, **details) | {"content": content}


@pytest.mark.parametrize(("kind", "where"), [("subagent_result", "results"), ("subagent_ping", "pings")])
def test_a_result_and_a_ping_name_the_child(kind: str, where: str) -> None:
    assert getattr(said(result(kind=kind)), where) == {CHILD}


@pytest.mark.parametrize(
    "record",
    [
        with_content("", facts={"sessionFile": CHILD}),
        with_content(f"failed\n\nSession: {CHILD}\nResume: pi --session {CHILD}"),
        with_content([{"type": "text", "text": f"x\nSession: {CHILD}"}]),
        with_content(f"the child said\nSession: {OTHER}\n\nSession: {CHILD}\nResume: x"),
        result(CHILD, facts={"sessionFile": OTHER}) | {"content": f"Session: {OTHER}"},
        result("", facts={"sessionFile": CHILD}),
    ],
    ids=["facts", "text", "blocks", "last line of the text", "details first", "empty"],
)
def test_where_the_child_is_named_is_looked_up_in_order(record: dict) -> None:
    assert said(record).results == {CHILD}


def test_a_result_without_any_session_file_is_that_of_the_one_launch_of_its_name_and_task() -> None:
    nameless = result(None, name="Beta", task="t", error="lost its pane")
    assert said(launched("a1"), launched("b2", OTHER, task="another"), nameless).results == {CHILD}


def test_with_two_launches_of_one_name_and_task_it_is_unknown_which_one_reported() -> None:
    found = said(launched("a1"), launched("b2", OTHER), result(None, name="Beta", task="t"))
    assert (found.results, found.torn_results) == (frozenset(), {CHILD, OTHER})


def test_a_result_of_nobody_that_was_launched_here_says_nothing() -> None:
    assert said(result(None, name="Beta", task="t")) == Transcript()


@pytest.mark.parametrize(
    "record",
    [
        launched("a1"),
        message("user", content=f"subagent_result Session: {CHILD}"),
        message("assistant", content=[{"type": "text", "text": json.dumps(result())}]),
        entry("custom", customType="subagent_result", data={"sessionFile": CHILD}),
        result(kind="subagent_status"),
    ],
    ids=["launch", "user", "quoted", "custom", "status"],
)
def test_nothing_else_that_names_a_session_file_is_a_result(record: dict) -> None:
    assert said(record) == Transcript()


@pytest.mark.parametrize("name", KNOWN_KEYS)
def test_every_key_is_read_with_what_helps_a_reader(name: str) -> None:
    assert said(key(at="now", **{name: "a1"}, why="so")).keys == (
        KeyEntry(name, "a1", {"at": "now", "why": "so"}),
    )


def test_keys_keep_the_order_of_the_file() -> None:
    found = said(key(closing="a1", pane="w1:p3"), key(unclosed="a1"), key(closing="a1"))
    assert [each.key for each in found.keys] == ["closing", "unclosed", "closing"]


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ({"v": "2", "at": "x", "adopted": "a1"}, "adopted"),
        ({"adopted": "b2", "seen": "a1"}, "seen"),
        ({"terminal": "t", "pane": "p", "why": "w", "seen": "a1"}, "seen"),
    ],
    ids=str,
)
def test_a_newer_versions_key_is_kept_and_a_known_one_goes_first(data: dict, name: str) -> None:
    assert [(each.key, each.run) for each in said(key(**data)).keys] == [(name, "a1")]


@pytest.mark.parametrize("data", [{}, {"at": "now"}, {"seen": 5}, {"seen": None}, {"seen": ["a1"]}], ids=str)
def test_a_malformed_key_is_skipped(data: dict) -> None:
    assert said(key(**data)) == Transcript()


@pytest.mark.parametrize("data", [None, "seen", ["seen"], 5])
def test_a_key_entry_without_members_is_skipped(data: object) -> None:
    assert said(entry("custom", customType="straw-boss", data=data)) == Transcript()


def test_the_session_took_a_message_for_the_runs_in_its_details() -> None:
    ours = entry(
        "custom_message", customType="straw-boss", content="", details={"id": "x", "runs": ["a1", 5, "b2"]}
    )
    assert said(ours).told == ("a1", "b2")


@pytest.mark.parametrize(
    ("details", "worktrees"),
    [
        ({"worktree": {"path": "/w"}}, {"a1"}),
        ({"worktree": None}, set()),
        ({}, set()),
        ({"id": 5, "worktree": {}}, set()),
    ],
    ids=str,
)
def test_the_launch_of_a_worktree_run_is_remembered(details: dict, worktrees: set[str]) -> None:
    assert (
        said(
            launched("a1") | message("toolResult", toolName="subagent", details={"id": "a1"} | details)
        ).worktrees
        == worktrees
    )


RESULT = text(with_content(f"[text]\n\nSession: {CHILD}\nResume: x", name="Beta", sessionFile=CHILD)).rstrip()


@given(st.integers(1, len(RESULT) - 1))
def test_a_result_cut_anywhere_is_never_taken_for_none(cut: int) -> None:
    found = read(RESULT[:cut])
    assert not found.results
    assert found.torn_results in ({""}, {CHILD})
    assert matters(RESULT[:cut])


def test_a_torn_result_names_its_child_as_soon_as_that_can_be_made_out() -> None:
    assert read(RESULT[: RESULT.index(b"Resume")]).torn_results == {CHILD}
    assert read(RESULT[: RESULT.index(b"Session")]).torn_results == {""}


def test_two_torn_results_with_one_name_between_them_leave_one_unknown() -> None:
    assert read(RESULT[:90] + RESULT[:-3]).torn_results == {CHILD, ""}


def test_a_result_without_its_beginning_counts_as_torn() -> None:
    assert read(b"\0" * 60 + RESULT[60:]).torn_results == {CHILD}


def test_a_whole_result_glued_to_a_torn_message_counts() -> None:
    torn = text(message("assistant", content=[{"type": "text", "text": "hello"}]))[:-30]
    assert read(torn + RESULT) == Transcript(results=frozenset({CHILD}), results_at={CHILD: 2})


def test_a_torn_key_names_its_run_and_is_no_key() -> None:
    found = read(text(key(nudged="a1")).rstrip()[:-20])
    assert (found.torn_keys, found.keys) == ({"a1"}, ())


def test_a_torn_message_may_have_named_the_runs_that_were_acted_on_before_it() -> None:
    torn = text(entry("custom_message", customType="straw-boss", content="", details={})).rstrip()[:60]
    before = text(key(seen="a1"), key(closing="b2"), key(seen="b2")).splitlines()
    assert read(*before, torn, *text(key(closing="c3")).splitlines()).torn_keys == {"b2"}


def test_a_run_launched_after_a_torn_key_was_not_named_by_it() -> None:
    torn = text(key(nudged="a1")).rstrip()[:40]
    found = read(*text(launched("a1")).splitlines(), torn, *text(launched("b2"), resumed("c3")).splitlines())
    assert [found.may_hold_torn_key_of(run) for run in ("a1", "b2", "c3", "d4")] == [True, False, False, True]
    assert read(*text(launched("b2")).splitlines(), torn).may_hold_torn_key_of("b2")


def test_a_torn_key_of_a_full_disk_and_the_next_entries_glued_to_it_are_told_apart() -> None:
    torn, whole = text(key(closing="a1b2c3d4")).rstrip()[:-50], text(key(nudged="b2")).rstrip()
    found = read(torn + torn + whole + torn)
    assert (found.torn_keys, [each.run for each in found.keys]) == ({"a1b2c3d4"}, ["b2"])


def test_a_torn_message_of_somebody_else_tears_nothing() -> None:
    for record in (
        message("user", content="x" * 99),
        result(kind="intercom_message"),
        entry("custom", customType="x"),
    ):
        assert read(text(record).rstrip()[:70]) == Transcript()


def test_a_torn_launch_of_a_worktree_run_still_counts_as_one() -> None:
    line = text(launched("a1", worktree={"path": "/w", "branch": "b"})).rstrip()
    assert read(line[: line.index(b'"branch"')]).worktrees == {"a1"}


def test_a_resume_is_known_by_run_session_file_script_and_place() -> None:
    found = said(launched("a1"), resumed("b2"), result(), resumed("c3"))
    first, second = found.resumes
    assert first == Resume("b2", CHILD, "/a/beta-resume-1.sh", first.at, "Beta")
    assert first.at < found.results_at[CHILD] < second.at


@pytest.mark.parametrize("missing", ["id", "sessionPath", "launchScriptFile"])
def test_a_resume_that_started_nothing_is_none(missing: str) -> None:
    assert said(resumed("b2", **{missing: None})) == Transcript()


@pytest.mark.parametrize("later", [result(), result(kind="subagent_ping")], ids=["result", "ping"])
def test_the_last_result_or_ping_of_a_session_file_has_a_place(later: dict) -> None:
    found = said(result(), result(OTHER), resumed("b2"), later)
    assert found.results_at[OTHER] < found.resumes[0].at < found.results_at[CHILD]


def test_a_torn_result_has_a_place_too() -> None:
    before = read(RESULT[:-3], *text(resumed("b2")).splitlines())
    after = read(*text(resumed("b2")).splitlines(), RESULT[:-3])
    assert before.torn_results_at[CHILD] < before.resumes[0].at
    assert after.torn_results_at[CHILD] > after.resumes[0].at
    assert read(RESULT[:50]).torn_results_at.keys() == {""}


def test_a_result_without_a_session_file_may_be_that_of_a_resume_of_its_name() -> None:
    nameless = result(None, name="Beta", error="lost its pane")
    after, before = said(resumed("b2"), nameless), said(nameless, resumed("b2"))
    assert after.torn_results_at[CHILD] > after.resumes[0].at
    assert before.torn_results_at == said(resumed("b2", name="Eta"), nameless).torn_results_at == {}


def test_a_nameless_result_of_the_one_launch_has_its_place() -> None:
    found = said(launched("a1"), result(None, name="Beta", task="t"), resumed("b2"))
    assert found.results_at[CHILD] < found.resumes[0].at


def test_a_copy_does_not_share_what_it_takes_later() -> None:
    findings = Findings(str)
    findings.take(text(result()).rstrip())
    copy = findings.copy()
    copy.take(text(result(OTHER)).rstrip())
    assert (findings.freeze().results, copy.freeze().results) == ({CHILD}, {CHILD, OTHER})


@pytest.mark.parametrize("error", [ValueError("null byte"), RuntimeError("loop")])
def test_a_path_no_file_can_have_names_no_run(error: Exception) -> None:
    def resolve(path: str) -> str:
        raise error

    findings = Findings(resolve)
    findings.take(text(result("nul\0")).rstrip())
    assert findings.freeze().results == {"nul\0"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["runs", "facts", "sessionFile", "id"]), inner)
    ),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["custom", "custom_message", "message"]) | json_values},
        optional={
            "customType": st.sampled_from(["straw-boss", "subagent_result", "subagent_ping"]) | json_values,
            "data": json_values,
            "details": json_values,
            "content": json_values,
            "message": json_values,
        },
    )
)
def test_no_shape_of_a_record_raises(record: dict) -> None:
    said(record)


@given(
    st.binary(max_size=300)
    | st.sampled_from([b"[" * 100_000, b'{"type":"custom","parentId":0,"a":' * 20_000])
)
def test_no_bytes_raise(line: bytes) -> None:
    read(line)
