from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from runs.written import RUN
from survey.home import TRACKED, Home

from strawboss.doctor.finding import Finding, Health, Patient
from strawboss.doctor.launchers import launchers
from strawboss.pi.command import PiError


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def found(home: Home) -> Callable[[], Finding]:
    return lambda: launchers(Patient(home.environment, home.config, PiError("no pi")))


def test_those_that_are_looked_at_are_counted(home: Home, found: Callable[[], Finding]) -> None:
    assert found().health is Health.OK
    assert found().text.startswith("0 sessions looked at now (a process starts with")
    home.looked("boss", home.session("boss", RUN), TRACKED, pid=os.getpid())
    with home.lock("boss"):
        assert found() == Finding("launchers", Health.OK, "1 session looked at now")


def test_a_process_that_hangs_and_a_pi_without_one_are_told_with_what_to_do(
    home: Home, found: Callable[[], Finding]
) -> None:
    home.looked("boss", home.session("boss", RUN), TRACKED, ago=200, pid=1)
    with home.lock("boss"):
        assert found() == Finding(
            "launchers",
            Health.FIX,
            "project is not looked at: its strawboss hangs, since 3 min",
            "type /reload in its pi",
        )
    assert found().text == "project is not looked at: its pi runs without strawboss"


def test_a_closed_one_is_no_matter_of_the_doctor(home: Home, found: Callable[[], Finding]) -> None:
    home.session("boss", RUN)
    assert found().health is Health.OK


def test_many_are_counted(home: Home, found: Callable[[], Finding]) -> None:
    for number in range(5):
        home.looked(f"boss{number}", home.session(f"boss{number}", RUN), TRACKED, ago=200, pid=1)
    assert found().text.count("is not looked at") == 3
    assert found().text.endswith("; and 2 more")
