"""`strawboss history`: what happened tonight, oldest first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from recovery.desk import restored, stranded
from recovery.given import LAUNCHER, RUN
from tape.taping import Taped

from strawboss.cli.main import main
from strawboss.tape.shapes import Happened


@pytest.fixture
def taped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Taped:
    monkeypatch.setenv("STRAWBOSS_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("STRAWBOSS_CONFIG", str(tmp_path / "config.yaml"))
    made = Taped(tmp_path / "tapes", restored())
    made.looks(4)
    other = Taped(made.shelf, stranded(launcher=replace(LAUNCHER, id="other", name="")))
    other.session_name = "other"
    other.restart()
    other.looks(3)
    return made


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[object, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["history", *arguments])
    out, err = capsys.readouterr()
    return ended.value.code, out, err


@pytest.mark.usefixtures("taped")
def test_each_event_is_a_line_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run([], capsys)
    assert code == 0
    said = " ".join(out.split())
    assert f'{RUN} "Zeta" of The Boss: its restored pane was closed' in said
    assert f'{RUN} "Zeta" of other: it was asked for its report' in said


@pytest.mark.usefixtures("taped")
def test_as_json_each_event_is_an_object_of_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(["--json"], capsys)
    events = [msgspec.json.decode(line, type=Happened) for line in out.splitlines()]
    assert {(one.session, one.what, one.outcome) for one in events} == {
        ("boss", "closing", "done"),
        ("boss", "resumed", "done"),
        ("other", "nudged", "done"),
    }
    assert [one.at for one in events] == sorted(one.at for one in events)


@pytest.mark.usefixtures("taped")
def test_of_one_session_and_one_run(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run([RUN, "--session", "other", "--json"], capsys)
    assert [msgspec.json.decode(line, type=Happened).what for line in out.splitlines()] == ["nudged"]


@pytest.mark.usefixtures("taped")
def test_what_was_done_before_that_time_is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(["--since", "1ms"], capsys)
    assert (code, out) == (0, "nothing was done in that time for the runs of 2 launchers\n")


@pytest.mark.usefixtures("taped")
def test_an_unknown_run_lists_the_near_ones(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(["zzz", "--session", "oth"], capsys)
    assert (code, out, "'zzz' is no run of session other" in err) == (2, "", True)
    code, out, err = run([RUN[:4]], capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"near it are {RUN}" in err


@pytest.mark.usefixtures("taped")
def test_an_unknown_session_is_no_session_in_which_nothing_was_done(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, err = run(["--session", "nope"], capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert 'there are boss "The Boss", other' in err
