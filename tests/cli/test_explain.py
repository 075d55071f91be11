"""`strawboss explain`: a run in plain words, what does not hold first, from the tape of its launcher or recorded looks."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from recovery.desk import restored, stranded
from recovery.given import LAUNCHER, RUN, SECONDS, now
from tape.taping import Taped

from strawboss.cli.main import main
from strawboss.recovery.settings import LOOK_SECONDS
from strawboss.recovery.wording import iso
from strawboss.tape.shapes import Explained

ROOT = Path(__file__).parents[2] / "fixtures" / "recorded" / "restart"
RESTART = [str(ROOT / moment) for moment in ("1-before", "3-after-10s", "3-after-10s")]
LIVE = pytest.mark.usefixtures("taped")


@pytest.fixture
def taped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Taped:
    monkeypatch.setenv("STRAWBOSS_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("STRAWBOSS_CONFIG", str(tmp_path / "config.yaml"))
    made = Taped(tmp_path / "tapes", restored())
    made.looks(2)
    return made


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[object, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["explain", *arguments])
    out, err = capsys.readouterr()
    return ended.value.code, " ".join(out.split()), err


@LIVE
def test_under_another_setting_the_looks_of_the_tape_are_taken_anew(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "restored: off in the config" not in run([RUN], capsys)[1]
    for more in ([], ["--session", LAUNCHER.id]):
        code, out, _ = run([RUN, "--set", "restored=off", *more], capsys)
        assert code == 0
        assert "restored: off in the config" in out
    code, _, err = run([RUN, "--set", "restored=off", "--at", "10m"], capsys)
    assert (code, err.count("\n")) == (2, 1)
    assert "leave LOOKS and --set out" in err


@LIVE
def test_one_sentence_comes_first_then_what_does_not_hold(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run([RUN], capsys)
    assert code == 0
    assert out.startswith(f'{RUN} "Zeta": its launcher was told of it and goes on with it')
    assert 'for launcher "The Boss" boss nudge: ' in out
    assert ": no (" in out
    assert ": yes" not in out
    assert re.search(r"not shown: \d+ that hold, \d+ not asked about \(`strawboss explain --all`\)", out)


@LIVE
def test_with_all_the_others_follow(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run([RUN, "--all"], capsys)
    assert out.rindex(": no (") < out.index("nothing was done for it before: yes")
    assert "--all" not in out


def test_at_an_earlier_time_it_is_as_it_was(taped: Taped, capsys: pytest.CaptureFixture[str]) -> None:
    taped.looks(3)
    _, out, _ = run([RUN, "--at", "2026-01-01T00:00:20+00:00"], capsys)
    assert "it is stranded, seen once; if the next look finds it so too, its pane is closed" in out
    code, _, err = run([RUN, "--at", "2026-01-01T00:00:10Z"], capsys)
    assert (code, err.count("\n")) == (2, 1)
    assert "no look at run a1b2c3d4 before that time" in err


@LIVE
def test_as_json_it_has_the_schema_and_the_same_names(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run([RUN, "--json"], capsys)
    said = msgspec.json.decode(out, type=Explained)
    assert (said.run.run, said.run.state, said.session, said.at) == (
        RUN,
        "resumed",
        "boss",
        iso(SECONDS + 2 * LOOK_SECONDS),
    )
    assert {one.machine for one in said.conditions} == {"nudge", "restored", "lost", "turn"}
    assert {one.answer for one in said.conditions} <= {"yes", "no", "unknown"}


@LIVE
def test_an_unknown_run_lists_the_near_ones(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(["a1b2"], capsys)
    assert (code, out) == (2, "")
    assert err == f"strawboss explain: 'a1b2' is no run of any launcher of this user; near it are {RUN}\n"


@LIVE
def test_one_that_is_like_none_lists_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    _, _, err = run(["zzz"], capsys)
    assert err == f"strawboss explain: 'zzz' is no run of any launcher of this user; there are {RUN}\n"


@pytest.mark.parametrize(
    ("session", "says"),
    [
        ("nope", "no tape of a session 'nope'; there are boss \"The Boss\""),
        ("bo", "'zzz' is no run of session boss; there are"),
    ],
)
@LIVE
def test_the_session_is_named_where_it_is_what_does_not_fit(
    session: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(["zzz", "--session", session], capsys)
    assert (code, out) == (2, "")
    assert says in err


def test_where_a_run_id_exists_twice_the_session_decides(
    taped: Taped, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Taped(taped.shelf, stranded(launcher=replace(LAUNCHER, id="other", name="x\ny")))
    other.session_name = "other"
    other.restart()
    other.look()
    code, _, err = run([RUN], capsys)
    assert (code, err.count("\n")) == (2, 1)
    assert 'exists in 2 sessions; choose one with --session: boss "The Boss", other "x y"' in err
    code, out, _ = run([RUN, "--session", "other"], capsys)
    assert code == 0
    assert "it is stranded, seen once; if the next look finds it so too, it is asked for its report" in out


def test_without_any_tape_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STRAWBOSS_STATE_DIR", str(tmp_path / "none"))
    code, _, err = run([RUN], capsys)
    assert (code, err.count("\n")) == (2, 1)


def test_a_config_that_cannot_be_read_is_one_line(
    taped: Taped, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.yaml").write_text("intervall: 3\n")
    code, _, err = run([RUN], capsys)
    assert (code, err.count("\n")) == (2, 1)
    assert taped.desk.looks == 2


@pytest.mark.parametrize("time", ["yesterday", "25:00", "2026-13-01", "-5m", ""])
@LIVE
def test_what_is_no_time_is_refused(time: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run([RUN, "--at", time], capsys)
    assert (code, err.count("\n")) == (2, 1)
    assert "write for example 03:15" in err


# -- recorded looks --------------------------------------------------------------------------------------------


def test_recorded_looks_are_explained_before_their_effects_were_played(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, _ = run(["a213437c", "--all", *RESTART], capsys)
    assert code == 0
    assert "nothing was done for it before: yes" in out
    assert "only a plain pi runs there: yes" in out


def test_a_tape_in_a_file_is_explained_too(taped: Taped, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run([RUN, "--json", str(taped.segments()[0])], capsys)
    assert code == 0
    assert json.loads(out)["run"]["state"] == "resumed"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nobody", RESTART[0]], "no run nobody in the last look; there are: 0f238203"),
        ([RUN, RESTART[0], "--at", "10m"], "leave LOOKS and --set out"),
        ([RUN, "/no/such"], "no such directory or file"),
    ],
)
def test_what_cannot_be_explained_is_one_line(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(arguments, capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err


def test_a_time_of_the_day_is_the_last_time_it_was_that(
    taped: Taped, capsys: pytest.CaptureFixture[str]
) -> None:
    assert now(1).wall > 0
    code, out, _ = run([RUN, "--at", "23:59:59"], capsys)
    assert (code, taped.desk.looks) == (0, 2)
    assert "resumed" in out or "told of it" in out


def test_watched_it_is_told_again_when_a_look_says_something_else(taped: Taped, tmp_path: Path) -> None:
    watching = subprocess.Popen(
        [sys.executable, "-P", "-m", "strawboss", "explain", RUN, "--watch", "--json"],
        env={**os.environ, "STRAWBOSS_STATE_DIR": str(tmp_path), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
    )
    assert watching.stdout
    try:
        first = json.loads(watching.stdout.readline())
        taped.looks(2)
        second = json.loads(watching.stdout.readline())
    finally:
        watching.send_signal(signal.SIGINT)
        assert watching.wait(30) == 0
        watching.stdout.close()
    assert (first["run"]["condition"], second["run"]["condition"]) == ("", "nothing was done for it before")
