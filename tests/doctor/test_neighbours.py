from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
from doctor.given import Make, package
from standins.herdr.listener import Listener, answering
from standins.intercom import Broker

from strawboss.doctor.finding import Health
from strawboss.doctor.neighbours import herdr, herdr_plugin, integration, intercom
from strawboss.herdr import installation as herdr_installation
from strawboss.pi import installation


@pytest.mark.parametrize(("protocol", "health"), [(20, Health.OK), (21, Health.NOTE)])
def test_herdr_answers_with_a_known_protocol_or_another(
    patient: Make, place: Path, protocol: int, health: Health
) -> None:
    pong = (
        '{"id":"strawboss:1","result":{"type":"pong","version":"0.8.0","protocol":%d,"capabilities":null}}\n'
    )
    listener = Listener(place / "h.sock", answering((pong % protocol).encode()))
    finding = herdr(patient())
    listener.stop()
    assert finding.health is health
    assert f"protocol {protocol}" in finding.text


def test_a_herdr_that_does_not_answer_is_to_be_started(patient: Make) -> None:
    finding = herdr(patient())
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
        finding = herdr_plugin(patient(environment={"HERDR_BIN_PATH": str(command)}))
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
    assert integration(patient()).fix == "run `herdr integration install pi`"
    (place / "agent" / "extensions" / "herdr-agent-state.ts").write_text("// HERDR_INTEGRATION_VERSION=8\n")
    finding = integration(patient())
    assert (finding.health, finding.text) == (Health.OK, "installed (8)")


def test_the_broker_answers_or_waits_for_the_first_session(patient: Make, place: Path) -> None:
    on = package(place / "pi-intercom", "pi-intercom")
    assert intercom(patient(packages=())).fix == "run `pi install npm:pi-intercom`"
    finding = intercom(patient(packages=(on,)))
    assert finding.health is Health.NOTE
    assert "no broker" in finding.text
    with Broker(place / "agent"):
        assert intercom(patient(packages=(on,))).text == "its broker answers, 0 sessions are on it"
