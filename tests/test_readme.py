"""What the README tells a user to write and to run is there."""

from __future__ import annotations

import re
from pathlib import Path

from strawboss.cli.main import COMMANDS
from strawboss.config import OVERRIDES, load_config
from strawboss.recovery.again import MOST_TIMES
from strawboss.recovery.settings import LOOK_SECONDS
from strawboss.recovery.wording import times

README = Path(__file__).parents[1] / "README.md"


def test_its_config_is_a_config(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", README.read_text(), re.DOTALL)
    (tmp_path / "config.yaml").write_text(example)
    config = load_config(tmp_path / "config.yaml", {})
    assert (config.interval, config.nudge, config.restored, config.role) == (
        LOOK_SECONDS,
        False,
        False,
        "tower",
    )


def test_the_variables_it_names_are_the_overrides_there_are() -> None:
    named = set(re.findall(r"`(STRAWBOSS_[A-Z]+)`", README.read_text()))
    assert named == set(OVERRIDES)


def test_every_command_it_shows_is_there() -> None:
    shown = set(re.findall(r"(?:^|`)strawboss ([a-z:]+)", README.read_text(), re.MULTILINE))
    assert {"install", "uninstall", "doctor"} <= shown <= set(COMMANDS)


def test_it_says_how_often_it_looks_and_recovers() -> None:
    assert f"up to {times(MOST_TIMES)};" in README.read_text()
    assert set(re.findall(r"every (\d+) s", README.read_text())) == {f"{LOOK_SECONDS:.0f}"}


def test_every_picture_it_shows_is_there() -> None:
    shown = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README.read_text())
    assert "docs/status.svg" in shown
    assert [name for name in shown if not (README.parent / name).exists()] == []
