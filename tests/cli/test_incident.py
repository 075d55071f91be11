"""`strawboss incident` writes one file that replays the same, or nothing; and shows what is in one."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import pytest
from recovery.desk import restored, stranded
from recovery.given import LAUNCHER, RUN
from tape.taping import Taped

from strawboss.cli.main import main

CASE = str(Path(__file__).parents[2] / "fixtures" / "reports" / "R01.json")


@pytest.fixture
def taped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Taped:
    monkeypatch.setenv("STRAWBOSS_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("STRAWBOSS_CONFIG", str(tmp_path / "config.yaml"))
    made = Taped(tmp_path / "tapes", restored())
    made.looks(4)
    return made


@pytest.fixture
def other(taped: Taped) -> Taped:
    made = Taped(taped.shelf, stranded(launcher=replace(LAUNCHER, id="other")))
    made.session_name = "other"
    made.restart()
    made.looks(2)
    return made


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[object, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    out, err = capsys.readouterr()
    return ended.value.code, " ".join(out.split()), err


def test_it_is_one_private_file_that_replays_the_same(
    taped: Taped, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "night.jsonl"
    code, out, _ = run(["incident", "-o", str(file)], capsys)
    assert (code, stat.S_IMODE(file.stat().st_mode)) == (0, 0o600)
    assert "4 looks" in out
    assert "decided the same when run again" in out
    assert RUN.encode() not in file.read_bytes()
    code, out, _ = run(["replay", "--diff", str(file)], capsys)
    assert (code, out) == (0, "4 looks, all decided as they were")
    assert taped.complaints == []


def test_what_is_in_it_is_shown(taped: Taped, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "night.jsonl"
    run(["incident", "-o", str(file)], capsys)
    code, out, _ = run(["incident", "--show", str(file)], capsys)
    assert code == 0
    assert "4 looks over 45 s, taken by strawboss" in out
    assert "the first look was at 2000-01-01T00:00:00Z" in out
    assert "→ close pane" in out
    assert "Zeta" not in out
    assert len(taped.read()) == 4


def test_a_tape_in_a_file_and_only_its_last_looks(
    taped: Taped, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "night.jsonl"
    code, out, _ = run(
        ["incident", "-o", str(file), "--tape", str(taped.segments()[0]), "--last", "20s"], capsys
    )
    assert (code, "2 looks" in out) == (0, True)


def test_where_there_are_several_launchers_one_is_to_be_chosen(
    other: Taped, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "night.jsonl"
    code, _, err = run(["incident", "-o", str(file)], capsys)
    assert (code, err.count("\n")) == (2, 1)
    assert "tapes of 2 launchers; choose one with --session" in err
    code, out, _ = run(["incident", "-o", str(file), "--session", "oth"], capsys)
    assert (code, "2 looks" in out) == (0, True)
    assert other.complaints == []


def test_what_decides_otherwise_is_not_written(
    taped: Taped, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [segment] = taped.segments()
    segment.write_bytes(segment.read_bytes().replace(b'"state":"found once"', b'"state":"watching"', 1))
    file = tmp_path / "night.jsonl"
    code, _, err = run(["incident", "-o", str(file)], capsys)
    assert (code, err.count("\n"), file.exists()) == (2, 1, False)
    assert "nothing was written: look 1 (2026-01-01T00:00:15Z) decides otherwise" in err
    assert RUN not in err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "write for example -o incident.jsonl"),
        (["-o", "/no/such/place/x", "--tape", CASE], "no tape; `strawboss replay --save TAPE"),
        (["-o", "/no/such/place/x"], "cannot be written"),
        (["-o", "x", "--session", "nobody"], "no tape of a session 'nobody'; there are boss"),
        (["-o", "x", "--last", "1ms"], "no looks in that time"),
        (["--show", "/no/such"], "no such directory or file"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    arguments: list[str], says: str, taped: Taped, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(["incident", *arguments], capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err
    assert taped.complaints == []


def test_without_any_tape_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STRAWBOSS_STATE_DIR", str(tmp_path / "none"))
    code, _, err = run(["incident", "-o", "x"], capsys)
    assert (code, err.count("\n")) == (2, 1)
    assert "there is no tape" in err
