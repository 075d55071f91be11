"""Each check of the doctor: well, ill, and what it says to do."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import filelock
import pytest
from standins.herdr.listener import Listener, answering
from standins.intercom import Broker

from strawboss import doctor
from strawboss.config import Config, Paths
from strawboss.doctor import Health, Patient
from strawboss.herdr import installation as herdr_installation
from strawboss.pi import installation
from strawboss.pi.command import Package, Pi, PiError

FAKE_PI = "#!/bin/sh\necho {version}\n"


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Short enough for a socket's path."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="sb-", dir="/tmp") as directory:
        yield Path(directory)


@pytest.fixture
def patient(place: Path) -> Callable[..., Patient]:
    """`patient(packages=…)`: everything of it lies in `place`."""
    agent = place / "agent"
    (agent / "extensions").mkdir(parents=True)

    def make(**changes: Any) -> Patient:
        environment = {
            "PI_CODING_AGENT_DIR": str(agent),
            "HERDR_SOCKET_PATH": str(place / "h.sock"),
            "PATH": os.environ["PATH"],
            **changes.pop("environment", {}),
        }
        config = Config(paths=Paths(state=str(place / "state")))
        whole = {"environment": environment, "config": config, "pi": PiError("no pi"), "cwd": str(place)}
        return Patient(**(whole | changes))

    return make


def package(directory: Path, name: str, source: str = "") -> Package:
    directory.mkdir(parents=True)
    (directory / "index.ts").write_text(source)
    return Package(str(directory), directory, name, "1.3.0")


Make = Callable[..., Patient]


# -- Python, pi, the extension ---------------------------------------------------------------------------------


def test_a_python_that_runs_strawboss_is_well(patient: Make) -> None:
    finding = doctor.python(patient(environment={"STRAWBOSS_PYTHON": sys.executable}))
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
    finding = doctor.python(patient())
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
    assert doctor.pi_version(patient(pi=pi)).health is health


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
    finding = doctor.shim(patient(pi=Pi({"PATH": str(place)})))
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
    assert doctor.shim(patient(pi=pi)).health is Health.NOTE


def test_a_pi_that_is_not_there_is_to_be_made_runnable(patient: Make) -> None:
    assert doctor.pi_version(patient()).fix == "make `pi` runnable; what depends on it is not looked at"
    assert doctor.shim(patient()).fix == "make `pi` runnable"
    assert doctor.extension(patient()).fix == "make `pi` runnable"


def test_the_extension_is_registered_or_to_be_installed(patient: Make) -> None:
    ours = tuple(Package("x", path, "", "0.1.0") for path in installation.EXTENSIONS)
    assert doctor.extension(patient(packages=ours)).health is Health.OK
    for some in ((), ours[:1], ours[1:]):
        assert doctor.extension(patient(packages=some)).fix == "run `strawboss install`"


# -- neighbours ------------------------------------------------------------------------------------------------


def test_the_registry_is_judged_from_the_packages_source(patient: Make, place: Path) -> None:
    source = 'Symbol.for("pi-subagents/runtime"); runtime.runningSubagents = new Map()'
    keeps = package(place / "keeps", "pi-herdr-agents", source)
    lacks = package(place / "lacks", "pi-herdr-agents", 'Symbol.for("pi-subagents/runtime")')
    assert doctor.registry(patient(packages=(keeps,))).health is Health.OK
    assert "judged from its source" in doctor.registry(patient(packages=(keeps,))).text
    assert doctor.registry(patient(extensions=(keeps,))).health is Health.OK
    assert doctor.registry(patient(packages=(lacks,))).health is Health.FIX
    assert doctor.registry(patient(packages=())).fix == "run `pi install npm:pi-herdr-agents`"


@pytest.mark.parametrize(("protocol", "health"), [(20, Health.OK), (21, Health.NOTE)])
def test_herdr_answers_with_a_known_protocol_or_another(
    patient: Make, place: Path, protocol: int, health: Health
) -> None:
    pong = (
        '{"id":"strawboss:1","result":{"type":"pong","version":"0.8.0","protocol":%d,"capabilities":null}}\n'
    )
    herdr = Listener(place / "h.sock", answering((pong % protocol).encode()))
    finding = doctor.herdr(patient())
    herdr.stop()
    assert finding.health is health
    assert f"protocol {protocol}" in finding.text


def test_a_herdr_that_does_not_answer_is_to_be_started(patient: Make) -> None:
    finding = doctor.herdr(patient())
    assert finding.health is Health.FIX
    assert "start herdr" in finding.fix


@pytest.fixture
def plugin_is(
    patient: Make, place: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[Health, str]]:
    """What is said of the plugin with a herdr of this version, and this of the plugin in its list."""
    monkeypatch.setenv("STRAWBOSS_STATE_DIR", str(place / "state"))
    installed = {"plugin_id": "strawboss", "plugin_root": str(place / "state" / "herdr-plugin")}

    def said(version: str = "0.8.2", **changes: Any) -> tuple[Health, str]:
        plugins = (
            [installed | {"version": "1", "enabled": True} | changes] if changes != {"none": True} else []
        )
        told = json.dumps({"id": "cli:plugin", "result": {"type": "plugin_list", "plugins": plugins}})
        command = place / "herdr"
        command.write_text(f"#!/bin/sh\n[ \"$1\" = --version ] && echo 'herdr {version}' || echo '{told}'\n")
        command.chmod(0o755)
        finding = doctor.herdr_plugin(patient(environment={"HERDR_BIN_PATH": str(command)}))
        return finding.health, finding.text

    installation.python_file({"PI_CODING_AGENT_DIR": str(place / "agent")}).write_text('{"python": "/p"}')
    herdr_installation.plugin_directory().mkdir(parents=True)
    (herdr_installation.plugin_directory() / "herdr-plugin.toml").write_text(
        herdr_installation.manifest("/p")
    )
    return said


def test_the_plugin_in_herdr_is_linked_or_may_be(plugin_is: Callable[..., tuple[Health, str]]) -> None:
    assert plugin_is() == (Health.OK, "linked (1)")
    assert plugin_is(none=True) == (Health.NOTE, "not linked (`strawboss install` links it)")
    assert plugin_is(enabled=False) == (Health.NOTE, "switched off (`herdr plugin enable strawboss`)")
    assert plugin_is("0.7.5") == (Health.NOTE, "herdr 0.7.5 is too old for it")
    assert plugin_is("one") == (Health.NOTE, ANY)


def test_a_plugin_that_would_start_another_strawboss_is_to_be_mended(
    plugin_is: Callable[..., tuple[Health, str]],
) -> None:
    another = (Health.FIX, "of another strawboss, or for another Python")
    assert plugin_is(plugin_root="/elsewhere") == another
    (herdr_installation.plugin_directory() / "herdr-plugin.toml").write_text(
        herdr_installation.manifest("/q")
    )
    assert plugin_is() == another
    (herdr_installation.plugin_directory() / "herdr-plugin.toml").unlink()
    assert plugin_is() == another


def test_herdrs_pi_integration_is_there_or_to_be_installed(patient: Make, place: Path) -> None:
    assert doctor.integration(patient()).fix == "run `herdr integration install pi`"
    (place / "agent" / "extensions" / "herdr-agent-state.ts").write_text("// HERDR_INTEGRATION_VERSION=8\n")
    finding = doctor.integration(patient())
    assert (finding.health, finding.text) == (Health.OK, "installed (8)")


def test_the_broker_answers_or_waits_for_the_first_session(patient: Make, place: Path) -> None:
    on = package(place / "pi-intercom", "pi-intercom")
    assert doctor.intercom(patient(packages=())).fix == "run `pi install npm:pi-intercom`"
    finding = doctor.intercom(patient(packages=(on,)))
    assert finding.health is Health.NOTE
    assert "no broker" in finding.text
    with Broker(place / "agent"):
        assert doctor.intercom(patient(packages=(on,))).text == "its broker answers, 0 sessions are on it"


# -- our own files ---------------------------------------------------------------------------------------------


def test_a_private_state_directory_is_well_and_an_open_one_is_not(patient: Make, place: Path) -> None:
    (place / "state").mkdir(mode=0o700)
    assert doctor.permissions(patient()).health is Health.OK
    (place / "state" / "x").touch(mode=0o644)
    finding = doctor.permissions(patient())
    assert finding.health is Health.FIX
    assert finding.fix == f"run `chmod -R go-rwx {place}/state`"


def test_a_state_directory_that_cannot_be_made_is_told(patient: Make, place: Path) -> None:
    (place / "state").touch()
    assert doctor.permissions(patient()).health is Health.FIX


def test_locks_are_tried_and_the_held_ones_counted(patient: Make, place: Path) -> None:
    locks = place / "state" / "locks"
    locks.mkdir(parents=True)
    (locks / "left-behind.lock").touch()
    with filelock.FileLock(locks / "held.lock"):
        finding = doctor.locks(patient())
    assert finding.health is Health.OK
    assert finding.text == "locks work; 1 sessions are being watched now"
    assert sorted(file.name for file in locks.iterdir()) == ["held.lock", "left-behind.lock"]
    assert "no session is being watched now (a process starts with" in doctor.locks(patient()).text


def test_a_place_where_no_lock_can_be_taken_is_told(patient: Make, place: Path) -> None:
    (place / "state").touch()
    assert doctor.locks(patient()).health is Health.FIX


# -- the whole -------------------------------------------------------------------------------------------------


def test_without_pi_that_is_said_once(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRAWBOSS_STATE_DIR", str(place / "state"))
    environment = {"PATH": str(place), "HOME": str(place), "PI_CODING_AGENT_DIR": str(place / "agent")}
    told = [(one.subject, one.fix) for one in doctor.examine(environment) if "pi" in one.subject.split()]
    assert told == [("pi", "make `pi` runnable; what depends on it is not looked at")]


@pytest.mark.parametrize("there", [(), ("state",), ("state/locks",)])
def test_looking_changes_nothing_on_disk(
    place: Path, monkeypatch: pytest.MonkeyPatch, there: tuple[str, ...]
) -> None:
    for directory in there:
        (place / directory).mkdir(mode=0o700, parents=True)
    monkeypatch.setenv("STRAWBOSS_STATE_DIR", str(place / "state"))
    before = sorted((path, path.lstat().st_mode) for path in place.rglob("*"))
    doctor.examine(
        {"PATH": os.environ["PATH"], "HOME": str(place), "PI_CODING_AGENT_DIR": str(place / "agent")}
    )
    assert sorted((path, path.lstat().st_mode) for path in place.rglob("*")) == before


def test_a_bad_config_comes_first_and_the_other_checks_go_on(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = place / "config.yaml"
    config.write_text("nudge: perhaps\n")
    monkeypatch.setenv("STRAWBOSS_CONFIG", str(config))
    monkeypatch.setenv("STRAWBOSS_STATE_DIR", str(place / "state"))
    findings = doctor.examine(
        {"PATH": str(place), "HOME": str(place), "PI_CODING_AGENT_DIR": str(place / "agent")}
    )
    assert len(findings) == len(doctor.CHECKS) - len(doctor.NEED_PI) + 1
    assert (findings[0].subject, findings[0].health) == ("config", Health.FIX)
    assert f"{config}:1: nudge: expected on or off" in findings[0].text
    assert all(bool(finding.fix) == (finding.health is Health.FIX) for finding in findings)
