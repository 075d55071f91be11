from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs.written import CHILD, RUN, quoted, script

from strawboss.recovery.verdict import Unknown
from strawboss.runs.script import RESUME_TITLE, RESUMED, Script, parse, parse_resume, run_of

PATH = "/a/subagent-scripts/beta-a213437c.sh"


def read(text: str) -> Script | Unknown:
    return parse(text.encode(), PATH, str)


def understood(text: str) -> Script:
    found = read(text)
    assert isinstance(found, Script), found
    return found


def test_a_launch_script_names_its_run_its_session_file_and_its_pane() -> None:
    found = understood(script())
    assert (found.run, found.session) == (RUN, CHILD)
    assert found.launch.path == PATH
    assert (found.launch.name, found.launch.session_file, found.launch.surface) == ("Beta", CHILD, "w1:p3")


@pytest.mark.parametrize(("written", "auto_exit"), [("1", True), ("0", False)])
def test_auto_exit_is_what_the_command_says(written: str, auto_exit: bool) -> None:
    assert understood(script(PI_SUBAGENT_AUTO_EXIT=written)).launch.auto_exit is auto_exit


def test_a_persistent_run_is_told_by_its_command_alone() -> None:
    assert understood(script(PI_SUBAGENT_PERSISTENT="1")).launch.persistent is True
    assert understood(script(task="PI_SUBAGENT_PERSISTENT=1")).launch.persistent is False
    assert understood(script(name="x PI_SUBAGENT_PERSISTENT=1 y")).launch.persistent is False


@pytest.mark.parametrize("flag", ["PI_SUBAGENT_AUTO_EXIT", "PI_SUBAGENT_PERSISTENT"])
@pytest.mark.parametrize("value", ["", "yes", "'01'"])
def test_a_flag_that_is_neither_0_nor_1_is_unknown(flag: str, value: str) -> None:
    assert isinstance(read(script(**{flag: value})), Unknown)


def test_without_the_pane_in_the_command_the_headers_pane_counts() -> None:
    text = script().replace("PI_SUBAGENT_SURFACE='w1:p3' ", "")
    assert understood(text).launch.surface == "w1:p3"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f"# Session: {CHILD}", "# Session: /s/other.jsonl"),
        ("# Surface: w1:p3", "# Surface: w1:p4"),
        (f"# Session: {CHILD}\n", ""),
        ("# Surface: w1:p3\n", ""),
        ("# Surface: w1:p3", "# Surface: "),
        (f"PI_SUBAGENT_ID='{RUN}' ", ""),
        (f"PI_SUBAGENT_ID='{RUN}'", "PI_SUBAGENT_ID=''"),
        ("PI_SUBAGENT_SESSION=", "PI_SUBAGENT_SESSIONS="),
        (" pi --session", " claude --session"),
        ("#!/bin/bash\n", ""),
        ("# Subagent launch script for", "# BTW for"),
        ("cd '/w' &&", "cd '/w';"),
        ("cd '/w' &&", "true &&"),
        ("cd '/w' &&", "cd '/w' && exec"),
        ("PI_SUBAGENT_ID=", f"PI_SUBAGENT_ID='ffffffff' PI_SUBAGENT_ID='{RUN}' PI_SUBAGENT_ID="),
        ("PI_SUBAGENT_NAME='Beta'", "PI_SUBAGENT_NAME='Beta"),
    ],
    ids=str,
)
def test_a_script_that_contradicts_itself_or_has_another_shape_does_not_name_its_run(
    old: str, new: str
) -> None:
    assert old in script()
    found = read(script().replace(old, new, 1))
    assert isinstance(found, Unknown)
    assert "does not name its run" in found.why


def test_a_handoff_script_carries_no_run() -> None:
    words = script().split("cd '/w' && ")[0] + f"cd '/w' && pi --session {quoted(CHILD)}"
    assert isinstance(read(words), Unknown)


RESUME = (
    script(title=RESUME_TITLE + " for").replace("cd '/w' && ", "").replace("PI_SUBAGENT_SURFACE='w1:p3' ", "")
)


def test_a_resume_script_is_said_to_be_one_and_still_tells_its_run() -> None:
    assert read(RESUME) == RESUMED
    assert run_of(RESUME.encode()) == RUN


def test_read_as_one_a_resume_script_says_what_a_launch_script_says() -> None:
    assert parse_resume(RESUME.encode(), PATH, str) == read(script())


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (RESUME_TITLE, "# Subagent launch script", "its title is not a resume script's"),
        (f"# Session: {CHILD}", "# Session: /s/x.jsonl", "header and command name different session files"),
        (f"PI_SUBAGENT_ID='{RUN}' ", "", "its command carries no id"),
        ("# Surface: w1:p3\n", "", "its header has no Surface line"),
    ],
    ids=["title", "session", "id", "surface"],
)
def test_a_resume_script_that_does_not_hold_together_is_unknown(old: str, new: str, why: str) -> None:
    assert old in RESUME
    found = parse_resume(RESUME.replace(old, new).encode(), PATH, str)
    assert found == Unknown(f"its resume script does not name its run: {why}")


@pytest.mark.parametrize(
    "content", [b"", b"#!/bin/bash\n", b"\xff\xfe", b"#!/bin/bash\n# x\npi", b"#!/bin/bash\n# x\n'"]
)
def test_a_script_without_a_run_has_none(content: bytes) -> None:
    assert not run_of(content)


hostile_names = st.text(
    st.characters(exclude_characters="\0\n\r", exclude_categories=["Cs"])
) | st.sampled_from(
    [
        "it's",
        "# Session: /etc/passwd",
        "PI_SUBAGENT_ID='ffffffff' pi",
        "$(touch /tmp/x)",
        '"',
        "\\",
        "a'; pi #",
        "&& PI_SUBAGENT_AUTO_EXIT=0",
    ]
)


@given(name=hostile_names, task=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_no_name_or_task_on_one_line_changes_what_is_read(name: str, task: str) -> None:
    found = understood(script(name=name, task=task))
    assert (found.run, found.session, found.launch.surface) == (RUN, CHILD, "w1:p3")
    assert found.launch.name == name
    assert (found.launch.auto_exit, found.launch.persistent) == (True, False)


def test_a_command_over_several_lines_is_read_whole() -> None:
    text = script(task="line one\nPI_SUBAGENT_ID='ffffffff'\n# Session: /fake\npi\n")
    assert understood(text).run == RUN
    assert understood(script(PI_SUBAGENT_NAME=quoted("two\nlines"))).launch.name == "two\nlines"


@pytest.mark.parametrize(
    "name",
    [
        "x\n# Session: /s/other.jsonl",
        "x\n# Surface: w9:p9",
        "x\nnot a comment",
        "x\nPI_SUBAGENT_ID='ffffffff' pi",
        f"x\n# Session: {CHILD}\n# Surface: w9:p9",
    ],
)
def test_a_name_that_puts_lines_into_the_header_makes_it_unknown(name: str) -> None:
    assert isinstance(read(script(name=name)), Unknown)


def test_a_name_that_adds_a_harmless_comment_changes_nothing() -> None:
    assert understood(script(name="x\n# hello")).run == RUN


@given(st.integers(0, len(script()) - 1))
def test_a_script_cut_anywhere_says_the_whole_scripts_facts_or_nothing(cut: int) -> None:
    found = read(script()[:cut])
    assert isinstance(found, Unknown) or found == read(script())


@given(
    st.binary(max_size=400)
    | st.binary(max_size=200).map(lambda junk: b"#!/bin/bash\n# Subagent launch script\n" + junk)
)
def test_any_bytes_raise_nothing(content: bytes) -> None:
    parse(content, PATH, str)
    run_of(content)


@pytest.mark.parametrize("error", [OSError("loop"), ValueError("embedded null byte")])
def test_a_session_path_that_cannot_be_resolved_is_unknown(error: Exception) -> None:
    def resolve(path: str) -> str:
        raise error

    assert isinstance(parse(script().encode(), PATH, resolve), Unknown)


NAMES = ["Beta", "it's", "$HOME `id` $(id)", 'say "hi" \\ # no', "two\nlines", "-n", "PI_SUBAGENT_ID=x"]


@pytest.mark.parametrize("name", NAMES)
def test_the_tokenizer_and_a_real_shell_agree_on_the_assignments(tmp_path: Path, name: str) -> None:
    (tmp_path / "pi").write_text('#!/bin/sh\nprintf "%s\\n%s" "$PI_SUBAGENT_ID" "$PI_SUBAGENT_NAME"\n')
    (tmp_path / "pi").chmod(0o755)
    text = script(PI_SUBAGENT_NAME=quoted(name)).replace("cd '/w'", f"cd '{tmp_path}'").rpartition(";")[0]
    shell = subprocess.run(
        ["bash", "-c", text], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, stdout=-1, check=True, text=True
    )
    found = understood(text)
    assert shell.stdout == f"{found.run}\n{found.launch.name}"


def test_every_recorded_launch_script_is_understood(moment: Callable[[str], Path]) -> None:
    found = {
        path.name: parse(path.read_bytes(), str(path), str) for path in moment("restart/3").rglob("*.sh")
    }
    assert found.pop("alpha-one-resume-1796161681966.sh") == RESUMED
    assert {
        name: (script.run, script.launch.name, script.launch.surface) for name, script in found.items()
    } == {
        "alpha-one-4f8d9873.sh": ("4f8d9873", "Alpha One", "w1:p2"),
        "beta-a213437c.sh": ("a213437c", "Beta", "w1:p3"),
        "gamma-its-0f238203.sh": ("0f238203", "Gamma it's", "w1:p4"),
        "delta-a53a33eb.sh": ("a53a33eb", "Delta", "w2:p1"),
    }
