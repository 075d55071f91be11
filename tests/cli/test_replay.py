"""`strawboss replay` and `strawboss explain` say what is wrong in one line, and what came out in a last one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from strawboss.cli.main import main

ROOT = Path(__file__).parents[2] / "fixtures"
RESTART = [
    str(ROOT / "recorded" / "restart" / moment) for moment in ("1-before", "3-after-10s", "3-after-10s")
]
REPORT = str(ROOT / "reports" / "R01.json")


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[object, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    out, err = capsys.readouterr()
    return ended.value.code, out, err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["replay", "/no/such"], "no such directory"),
        (["replay", str(ROOT)], "not a recording"),
        (["replay", __file__], "a fixture that ends in .json"),
        (["replay", RESTART[0], "--launcher", "nobody"], "no launcher nobody"),
        (["replay", REPORT, "--launcher", "nobody"], "no launcher nobody"),
        (["replay", "/no/such.json"], "No such file"),
        (["explain", "nobody", RESTART[0]], "there are: 0f238203"),
    ],
)
def test_what_cannot_be_replayed_is_one_line_and_exit_2(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(arguments, capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err


@pytest.mark.parametrize("text", ["", "[]", '{"looks": []}', '{"launcher": 1, "looks": []}', "\x00"])
def test_a_file_that_is_no_fixture_is_one_line(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.json").write_text(text)
    code, _, err = run(["replay", str(tmp_path / "x.json")], capsys)
    assert (code, err.count("\n")) == (2, 1)


def test_as_json_each_look_is_a_line_and_the_summary_the_last(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(["replay", "--json", *RESTART], capsys)
    *looks, last = map(json.loads, out.splitlines())
    assert code == 0
    assert [look["look"] for look in looks] == [1, 2, 3]
    assert list(last["summary"]) == ["nudged", "closed", "resumed", "continued", "gaveUp", "untouched"]
    assert sorted(last["summary"]["closed"]) == ["w1:p3", "w1:p4"]


def test_for_people_each_look_is_a_table_with_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(["replay", *RESTART], capsys)
    assert code == 0
    assert "| a213437c | Beta | restored | resumed | - |" in out
    assert "→ close pane w1:p3" in out
    assert "panes closed: w1:p4, w1:p3" in out


def test_explain_prints_every_condition_with_its_answer(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(["explain", "9ced404c", "--json", *RESTART], capsys)
    conditions = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert {one["machine"] for one in conditions} == {"nudge", "restored", "turn"}
    assert {one["answer"] for one in conditions} <= {"yes", "no", "unknown"}
    assert any("resumed run" in one["why"] for one in conditions)


def test_another_platform_is_another_story(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(["replay", "--json", "--platform", "win32", *RESTART], capsys)
    assert json.loads(out.splitlines()[-1])["summary"]["closed"] == []
