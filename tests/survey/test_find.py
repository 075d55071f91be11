"""Which launchers are found, and how each stands."""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from runs.written import RUN, key, script
from standins.herdr.listener import Listener, silent
from standins.short_directory import short_directory
from survey.home import DAY, TRACKED, Home

from strawboss.overview.judge import view
from strawboss.overview.seen import Watch
from strawboss.pi.protocol import SILENT_LOOKS
from strawboss.recovery.evidence import Transcript
from strawboss.recovery.settings import LOOK_SECONDS
from strawboss.resident.launcher import POLICY_SUFFIX


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_an_empty_home_has_none(home: Home) -> None:
    assert home.survey() == {}


def test_one_whose_process_holds_the_lock_and_looks_is_told_by_its_last_look(home: Home) -> None:
    home.looked("boss", home.session("boss", RUN), TRACKED, pid=os.getpid())
    with home.lock("boss"):
        (seen,) = home.survey().values()
    assert (seen.watch, tuple(seen.runs)) == (Watch.LOOKING, (TRACKED,))


def test_one_that_holds_the_lock_and_has_not_looked_for_too_long_hangs(home: Home) -> None:
    home.looked("boss", home.session("boss", RUN), TRACKED, ago=SILENT_LOOKS * LOOK_SECONDS + 1)
    with home.lock("boss"):
        assert home.survey()["boss"].watch is Watch.HUNG
    home.looked("late", home.session("late"), TRACKED, ago=SILENT_LOOKS * LOOK_SECONDS - 1)
    with home.lock("late"):
        assert home.survey()["late"].watch is Watch.LOOKING


def test_one_that_keeps_no_tape_is_looked_at_from_outside_and_its_runs_are_not_judged(home: Home) -> None:
    home.session("boss", RUN)
    with home.lock("boss"):
        (seen,) = home.survey().values()
    assert seen.watch is Watch.UNSEEN
    assert [run.state for run in seen.runs] == ["not looked at"]


def test_a_session_that_was_never_looked_at_is_found_in_the_folders_of_pi(home: Home) -> None:
    file = home.session("boss", RUN)
    (seen,) = home.survey().values()
    assert (seen.watch, seen.launcher.file, seen.launcher.cwd) == (Watch.CLOSED, str(file), str(home.project))
    assert seen.bring_back == f"cd {home.project} && pi --session boss"
    assert [need.run for need in view(seen, 0.0).needs] == [RUN]


def test_one_whose_process_is_gone_is_looked_at_anew(home: Home) -> None:
    home.looked("boss", home.session("boss", RUN, records=(home.reported(RUN),)), TRACKED)
    (seen,) = home.survey().values()
    assert (seen.watch, seen.launcher.pid) == (Watch.CLOSED, None)
    assert [run.state for run in seen.runs] == ["settled"]
    assert view(seen, 0.0).needs == ()


def test_a_pi_whose_process_has_just_gone_is_not_called_closed(home: Home) -> None:
    home.looked("new", home.session("new", "aaaa"), TRACKED, ago=0, pid=os.getpid())
    assert home.survey()["new"].watch is Watch.UNSEEN


def test_a_pi_that_went_on_to_another_session_has_closed_the_first(home: Home) -> None:
    home.looked("old", home.session("old", RUN), TRACKED, ago=0, pid=os.getpid())
    home.looked("new", home.session("new"), ago=0, pid=os.getpid())
    with home.lock("new"):
        assert home.survey()["old"].watch is Watch.CLOSED


def test_what_is_older_than_asked_for_is_not_looked_at(home: Home) -> None:
    home.looked("boss", home.session("boss", RUN, age=8 * DAY), TRACKED, ago=8 * DAY)
    assert home.survey() == {}
    assert list(home.survey(since=9 * DAY)) == ["boss"]


def test_an_old_run_beside_a_young_one_is_left_out(home: Home) -> None:
    home.session("boss", RUN, "0ld")
    old = home.sessions / "artifacts" / "boss" / "subagent-activity" / "0ld.json"
    os.utime(old, (1, 1))
    assert [run.run for run in home.survey()["boss"].runs] == [RUN]


def test_a_session_whose_file_is_gone_and_one_of_a_subagent_are_none(home: Home) -> None:
    home.session("gone", RUN).unlink()
    child = home.session("child", RUN)
    Path(f"{child}{POLICY_SUFFIX}").write_text("{}")
    assert home.survey() == {}


def test_a_session_kept_under_another_name_is_found_by_its_header_and_brought_back_by_its_file(
    home: Home,
) -> None:
    other = home.sessions / "mine own.jsonl"
    home.session("boss", RUN).rename(other)
    (seen,) = home.survey().values()
    assert seen.bring_back == f"cd {home.project} && pi --session '{other}'"


def test_keys_are_read_where_something_was_done(home: Home) -> None:
    lost = key(lost=RUN, at="2999-01-01T00:00:00Z")
    home.looked("boss", home.session("boss", RUN, records=(lost,)), replace(TRACKED, state="given up"))
    with home.lock("boss"):
        (seen,) = home.survey().values()
    assert isinstance(seen.transcript, Transcript)
    assert seen.sessions == {RUN: home.child(RUN)}
    assert [need.what for need in view(seen, 0.0).needs] == ["was running and did not come back"]


def test_the_session_of_a_resumed_run_that_is_left_to_a_person_is_known(home: Home) -> None:
    warned = key(warned=RUN, then="resume", at="2999-01-01T00:00:00Z")
    home.looked("boss", home.session("boss", RUN, records=(warned,)), replace(TRACKED, state="given up"))
    scripts = home.sessions / "artifacts" / "boss" / "subagent-scripts"
    [launch] = scripts.iterdir()
    launch.unlink()
    resume = script(RUN, home.child(RUN), title="# Subagent resume script for")
    (scripts / "beta-resume-1796161681966.sh").write_text(resume)
    with home.lock("boss"):
        (seen,) = home.survey().values()
    assert seen.sessions == {RUN: home.child(RUN)}


def test_nothing_is_written(home: Home) -> None:
    home.looked("boss", home.session("boss", RUN), TRACKED)
    home.session("other", RUN)
    before = _contents(home.directory)
    home.survey()
    assert _contents(home.directory) == before


def _contents(directory: Path) -> dict[Path, str]:
    files = [file for file in directory.rglob("*") if file.is_file()]
    return {file: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_a_herdr_that_hangs_holds_up_all_launchers_together_for_a_second_at_most(home: Home) -> None:
    for number in range(20):
        home.session(f"boss{number}", f"{number:08x}")
    with short_directory() as directory:
        listener = Listener(directory / "h.sock", silent)
        environment = {**home.environment, "HERDR_SOCKET_PATH": str(listener.path)}
        began = time.monotonic()
        quick = len(home.survey())
        without = time.monotonic() - began
        assert len(home.survey(environment=environment)) == quick == 20
        held_up = time.monotonic() - began - 2 * without
        listener.stop()
    assert held_up < 1.5  # a second, and what a busy machine adds
