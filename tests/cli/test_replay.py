"""`strawboss replay` says what is wrong in one line, and what came out first of all."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from strawboss.cli.main import main
from strawboss.tape.shapes import Look, Summarized

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
        (["replay", __file__], "a case that ends in .json"),
        (["replay", REPORT, "--set", "mood=sunny"], "there is no setting 'mood'; there are interval, role"),
        (["replay", REPORT, "--set", "nudge=maybe"], "'maybe' is no value for nudge; write on or off"),
        (
            ["replay", REPORT, "--set", "lost=maybe"],
            "'maybe' is no value for lost; write warn, recover or off",
        ),
        (["replay", REPORT, "--diff"], "no tape"),
        (["replay", REPORT, "--save", "/no/such/place/x"], "cannot be written"),
        (["replay", RESTART[0], "--launcher", "nobody"], "no launcher nobody"),
        (["replay", REPORT, "--launcher", "nobody"], "no launcher nobody"),
        (["replay", "/no/such.json"], "No such file"),
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
    first, *looks = map(json.loads, out.splitlines())
    assert code == 0
    assert [look["look"] for look in looks] == [1, 2, 3]
    assert list(first["summary"]) == ["nudged", "closed", "resumed", "continued", "gaveUp", "untouched"]
    assert sorted(first["summary"]["closed"]) == ["w1:p3", "w1:p4"]


def test_for_people_each_look_is_a_table_with_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(["replay", *RESTART], capsys)
    assert code == 0
    assert "| a213437c | Beta | restored | resumed | - |" in out
    assert "→ close pane w1:p3" in out
    assert out.startswith("3 looks, 5 runs\n")
    assert 'a213437c "Beta": its launcher was told of it' in out
    assert "subagent_resume {" not in out


def test_another_platform_is_another_story(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(["replay", "--json", "--platform", "win32", *RESTART], capsys)
    assert json.loads(out.splitlines()[0])["summary"]["closed"] == []


def test_in_full_it_shows_the_texts_wrapped_at_the_terminals_width(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    _, out, _ = run(["replay", "--full", *RESTART], capsys)
    texts = [line for line in out.splitlines() if line.startswith("      ")]
    assert "Call subagent_resume once for each of these runs" in " ".join(" ".join(texts).split())
    assert all(len(line) <= 60 for line in texts if " " in line.strip() and "/" not in line)


@pytest.mark.parametrize("looks", [RESTART, [REPORT]])
def test_the_json_is_as_its_schema_says(looks: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(["replay", "--json", *looks], capsys)
    first, *rest = out.splitlines()
    msgspec.json.decode(first, type=Summarized)
    assert [msgspec.json.decode(line, type=Look).look for line in rest] == list(range(1, len(rest) + 1))


def test_what_was_replayed_is_a_tape_that_replays_the_same(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    saved = str(tmp_path / "saved.jsonl")
    _, before, _ = run(["replay", "--json", "--save", saved, *RESTART], capsys)
    _, after, _ = run(["replay", "--json", saved], capsys)
    code, differs, _ = run(["replay", "--diff", saved], capsys)
    assert (code, differs) == (0, "3 looks, all decided as they were\n")
    assert without_moments(after) == without_moments(before)


def without_moments(out: str) -> list[object]:
    return [{**json.loads(line), "moment": ""} for line in out.splitlines()]


def test_with_another_setting_the_same_looks_are_another_story(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    saved = str(tmp_path / "saved.jsonl")
    run(["replay", "--save", saved, *RESTART], capsys)
    for looks in (RESTART, [saved]):
        _, out, _ = run(["replay", "--json", "--set", "restored=off", *looks], capsys)
        assert json.loads(out.splitlines()[0])["summary"]["closed"] == []


def test_a_run_that_is_stranded_again_is_recovered_by_another_setting(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before, _, after = sorted(str(moment) for moment in (ROOT / "recorded" / "second").iterdir())
    looks = [before, after, after, after]
    recovered = {}
    for setting in ("warn", "recover"):
        _, out, _ = run(["replay", "--json", "--set", f"resumed={setting}", *looks], capsys)
        recovered[setting] = json.loads(out.splitlines()[0])["summary"]["resumed"]
    assert recovered == {"warn": [], "recover": ["57060e45"]}


def test_the_difference_another_setting_would_have_made_is_told_look_by_look(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    saved = str(tmp_path / "saved.jsonl")
    run(["replay", "--save", saved, *RESTART], capsys)
    code, out, _ = run(["replay", "--diff", "--set", "restored=off", saved], capsys)
    assert code == 1
    assert "3 looks, 2 decided otherwise, the first of them look 2" in out
    assert (
        "run a213437c: then restored found once (nothing in its way); now restored watching (restored.is_on no)"
        in " ".join(out.split())
    )
    code, out, _ = run(["replay", "--diff", "--set", "mode=act", saved], capsys)
    assert (code, out) == (0, "3 looks, all decided as they were\n")


def test_looks_that_say_the_same_are_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(["replay", *RESTART, *[RESTART[-1]] * 4], capsys)
    told = [line for line in out.splitlines() if line.startswith("Look")]
    assert told[3:] == [
        "Look 4: restart/3-after-10s",
        "Looks 5 to 7: as the one before, and nothing was done",
    ]
    _, out, _ = run(["replay", *RESTART, *[RESTART[-1]] * 2], capsys)
    assert out.endswith("\n\nLook 5: as the one before, and nothing was done\n")


def test_where_a_tape_was_decided_otherwise_it_says_at_which_look_and_which_condition(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    saved = tmp_path / "saved.jsonl"
    run(["replay", "--save", str(saved), *RESTART], capsys)
    # As if an older version had found the pane of Beta at work, and had closed nothing.
    saved.write_text(saved.read_text().replace('"state":["found once"]', '"state":["watching"]'))
    code, out, _ = run(["replay", "--diff", str(saved)], capsys)
    assert code == 1
    assert "3 looks, 1 decided otherwise, the first of them look 2" in out
    assert "run a213437c: then restored watching (nothing in its way)" in " ".join(out.split())
    code, out, _ = run(["replay", "--diff", "--json", str(saved)], capsys)
    [look] = [msgspec.json.decode(line, type=Look) for line in out.splitlines()]
    assert (code, look.look) == (1, 2)
    assert {one.run for one in look.differs} == {"0f238203", "9ced404c", "a213437c", "a53a33eb"}
