from __future__ import annotations

import os
from pathlib import Path

import pytest
from e2e.pi_install import pi_binary

from strawboss.doctor.examine import CHECKS, NEED_PI, examine
from strawboss.doctor.finding import Health


def test_without_pi_that_is_said_once(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRAWBOSS_STATE_DIR", str(place / "state"))
    environment = {"PATH": str(place), "HOME": str(place), "PI_CODING_AGENT_DIR": str(place / "agent")}
    told = [(one.subject, one.fix) for one in examine(environment) if "pi" in one.subject.split()]
    assert told == [("pi", "make `pi` runnable; what depends on it is not looked at")]


def whole(place: Path) -> list[tuple[Path, int, int, int]]:
    """When pi is asked for its packages, it makes and takes away a lock in its own directory."""
    found = ((path, path.lstat()) for path in (place, *place.rglob("*")))
    return sorted(
        (path, one.st_mode, one.st_size, 0 if path.name == "agent" else one.st_mtime_ns)
        for path, one in found
    )


@pytest.mark.slow
@pytest.mark.parametrize("there", [(), ("state",), ("state/locks",), ("state/locks", "agent")])
def test_looking_changes_nothing_on_disk(
    place: Path, monkeypatch: pytest.MonkeyPatch, there: tuple[str, ...]
) -> None:
    for directory in there:
        (place / directory).mkdir(mode=0o700, parents=True)
    for locks in place.glob("state/locks"):
        (locks / "boss.lock").touch(mode=0o600)
    monkeypatch.setenv("STRAWBOSS_STATE_DIR", str(place / "state"))
    before = whole(place)
    path = f"{pi_binary().parent}{os.pathsep}{os.environ['PATH']}"
    examine({"PATH": path, "HOME": str(place), "PI_CODING_AGENT_DIR": str(place / "agent")})
    assert whole(place) == before


def test_a_bad_config_comes_first_and_the_other_checks_go_on(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = place / "config.yaml"
    config.write_text("nudge: perhaps\n")
    monkeypatch.setenv("STRAWBOSS_CONFIG", str(config))
    monkeypatch.setenv("STRAWBOSS_STATE_DIR", str(place / "state"))
    findings = examine({"PATH": str(place), "HOME": str(place), "PI_CODING_AGENT_DIR": str(place / "agent")})
    assert len(findings) == len(CHECKS) - len(NEED_PI) + 1
    assert (findings[0].subject, findings[0].health) == ("config", Health.FIX)
    assert f"{config}:1: nudge: expected on or off" in findings[0].text
    assert all(bool(finding.fix) == (finding.health is Health.FIX) for finding in findings)
