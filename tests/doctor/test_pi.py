from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from doctor.given import Make, package

from strawboss.doctor.finding import Health
from strawboss.doctor.pi import extension, pi_version, python, registry, shim
from strawboss.pi import installation
from strawboss.pi.command import Package, Pi

FAKE_PI = "#!/bin/sh\necho {version}\n"


def test_a_python_that_runs_strawboss_is_well(patient: Make) -> None:
    finding = python(patient(environment={"STRAWBOSS_PYTHON": sys.executable}))
    assert (finding.health, finding.fix) == (Health.OK, "")
    assert sys.executable in finding.text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "names no Python"),
        ("{}", "names no Python"),
        ('{"python": "/nonexistent/python"}', "does not run"),
        ('{"python": "/bin/false"}', "has no strawboss"),
    ],
)
def test_a_python_that_does_not_is_to_be_installed_again(
    patient: Make, place: Path, content: str | None, said: str
) -> None:
    if content is not None:
        (place / "agent" / "strawboss.json").write_text(content)
    finding = python(patient())
    assert (finding.health, finding.fix) == (Health.FIX, "run `strawboss install`")
    assert said in finding.text


@pytest.mark.parametrize(
    ("version", "health"),
    [
        ("1.6.0", Health.OK),
        ("1.6.3", Health.OK),
        ("1.1.9", Health.FIX),
        ("2.0.0", Health.NOTE),
        ("next", Health.NOTE),
    ],
)
def test_pi_is_old_enough_and_known_or_not(patient: Make, place: Path, version: str, health: Health) -> None:
    command = place / "pi"
    command.write_text(FAKE_PI.format(version=version))
    command.chmod(0o755)
    pi = Pi({"PATH": f"{place}{os.pathsep}{os.environ['PATH']}"})
    assert pi_version(patient(pi=pi)).health is health


@pytest.mark.parametrize(
    ("script", "health"),
    [('exec node /real/pi "$@"', Health.OK), ('node /real/pi "$@"', Health.FIX)],
    ids=["hands over", "stays"],
)
def test_a_shim_that_stays_in_front_of_pi_is_known(
    patient: Make, place: Path, script: str, health: Health
) -> None:
    command = place / "pi"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)
    finding = shim(patient(pi=Pi({"PATH": str(place)})))
    assert finding.health is health
    assert str(command) in finding.text
    assert finding.fix == ("" if health is Health.OK else "put the directory of the real pi first on PATH")


def test_a_pi_command_that_cannot_be_read_is_no_shim_and_not_cleared_either(
    patient: Make, place: Path
) -> None:
    command = place / "pi"
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    pi = Pi({"PATH": str(place)})
    command.unlink()
    assert shim(patient(pi=pi)).health is Health.NOTE


def test_a_pi_that_is_not_there_is_to_be_made_runnable(patient: Make) -> None:
    assert pi_version(patient()).fix == "make `pi` runnable; what depends on it is not looked at"
    assert shim(patient()).fix == "make `pi` runnable"
    assert extension(patient()).fix == "make `pi` runnable"


def test_the_extension_is_registered_or_to_be_installed(patient: Make) -> None:
    ours = tuple(Package("x", path, "", "0.1.0") for path in installation.EXTENSIONS)
    assert extension(patient(packages=ours)).health is Health.OK
    for some in ((), ours[:1], ours[1:]):
        assert extension(patient(packages=some)).fix == "run `strawboss install`"


def test_the_registry_is_judged_from_the_packages_source(patient: Make, place: Path) -> None:
    source = 'Symbol.for("pi-subagents/runtime"); runtime.runningSubagents = new Map()'
    keeps = package(place / "keeps", "pi-herdr-agents", source)
    lacks = package(place / "lacks", "pi-herdr-agents", 'Symbol.for("pi-subagents/runtime")')
    assert registry(patient(packages=(keeps,))).health is Health.OK
    assert "judged from its source" in registry(patient(packages=(keeps,))).text
    assert registry(patient(extensions=(keeps,))).health is Health.OK
    assert registry(patient(packages=(lacks,))).health is Health.FIX
    assert registry(patient(packages=())).fix == "run `pi install npm:pi-herdr-agents`"
