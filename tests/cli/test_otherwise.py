"""`--set NAME=VALUE`: recorded looks under another setting, and under no other than that."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from recovery.desk import restored
from recovery.given import LAUNCHER, RUN, key
from recovery.test_again import worktree_run
from tape.taping import Taped

from strawboss.cli.main import main
from strawboss.cli.otherwise import CHANGES, SettingParam, under
from strawboss.config import EXPECTED
from strawboss.recovery.settings import TURN_STARTING_TYPES, Beyond, Settings

OF_THE_PROCESS = {"tape_mib", "tapes_mib", "tape_days", "paths"}
OTHERWISE: dict[str, tuple[str, dict[str, Any]]] = {
    "interval": ("30", {"interval": 30.0}),
    "mode": ("observe", {"observe": True}),
    "nudge": ("off", {"nudge": False}),
    "restored": ("off", {"restored": False}),
    "resumed": ("off", {"resumed": Beyond.OFF}),
    "lost": ("recover", {"lost": Beyond.RECOVER}),
    "turn_starting_types": (
        "[my_wake, other]",
        {"turn_starting_types": TURN_STARTING_TYPES | {"my_wake", "other"}},
    ),
}


@pytest.fixture
def taped(tmp_path: Path) -> Taped:
    """A tape on which a run was recovered a second time, because its launcher had `resumed: recover`."""
    given = worktree_run(key("resumed", terminal="t1"))
    made = Taped(tmp_path, restored(**given, settings=Settings(resumed=Beyond.RECOVER)))
    made.looks(4)
    return made


def run(*arguments: object, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        main([*map(str, arguments)])
    assert ended.value.code == 0
    return capsys.readouterr().out


def changed(*texts: str) -> tuple[Any, Settings]:
    made = under([SettingParam().convert(text, None, None) for text in texts])
    assert made is not None
    return made(LAUNCHER, Settings())


def test_every_setting_of_the_config_that_the_core_reads_can_be_tried() -> None:
    assert set(CHANGES) == {key.partition(".")[0] for key in EXPECTED} - OF_THE_PROCESS
    assert set(OTHERWISE) == set(CHANGES) - {"role"}
    assert {name for _, change in OTHERWISE.values() for name in change} == {
        field.name for field in fields(Settings)
    }


@pytest.mark.parametrize("name", OTHERWISE)
def test_it_changes_that_one(name: str) -> None:
    text, change = OTHERWISE[name]
    assert changed(f"{name}={text}") == (LAUNCHER, replace(Settings(), **change))


def test_the_role_is_the_launchers() -> None:
    assert changed("role=tower") == (replace(LAUNCHER, tower=True), Settings())


def test_several_are_tried_together() -> None:
    assert changed("nudge=off", "lost=off") == (LAUNCHER, Settings(nudge=False, lost=Beyond.OFF))


def test_over_a_tape_the_others_stay_as_they_were(taped: Taped, capsys: pytest.CaptureFixture[str]) -> None:
    [tape] = taped.segments()

    def resumed(*settings: str) -> Any:
        out = run("replay", "--json", *settings, tape, capsys=capsys)
        return json.loads(out.splitlines()[0])["summary"]["resumed"]

    assert resumed() == resumed("--set", "nudge=off") == resumed("--set", "lost=recover") == [RUN]
    assert resumed("--set", "nudge=off", "--set", "resumed=warn") == resumed("--set", "restored=off") == []


def test_a_run_is_explained_under_it(taped: Taped, capsys: pytest.CaptureFixture[str]) -> None:
    [tape] = taped.segments()
    told = {
        setting: " ".join(run("explain", RUN, "--set", setting, tape, capsys=capsys).split())
        for setting in ("nudge=off", "resumed=warn", "resumed=off")
    }
    assert "its launcher was told of it" in told["nudge=off"]
    assert "nudge: off in the config" in told["nudge=off"]
    assert "`resumed: recover` in the config has that done again" in told["resumed=warn"]
    assert "its resumed key is written" in told["resumed=off"]


@pytest.mark.parametrize("setting", ["interval=0", "interval=nan", "role=boss", "mode=", "resumed"])
def test_what_the_config_would_refuse_is_refused(setting: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["replay", "--set", setting, "/no/such"])
    err = capsys.readouterr().err
    assert (ended.value.code, err.count("\n")) == (2, 1)
    assert EXPECTED[setting.partition("=")[0]] in err
