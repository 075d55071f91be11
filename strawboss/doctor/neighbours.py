"""herdr with its two parts, and pi-intercom."""

from __future__ import annotations

import sys
from pathlib import Path

from strawboss.doctor.finding import INSTALL, Finding, Health, Patient
from strawboss.herdr import installation as plugin
from strawboss.herdr.client import Herdr
from strawboss.herdr.command import HerdrCommand, HerdrCommandError
from strawboss.intercom.client import Intercom
from strawboss.pi import installation
from strawboss.pi.command import agent_directory
from strawboss.recovery.verdict import Unknown
from strawboss.resident.connections import herdr_address, intercom_address

TRIED_HERDR_PROTOCOL = 20
INTEGRATION = Path("extensions", "herdr-agent-state.ts")
INTEGRATION_LINE = "HERDR_INTEGRATION_VERSION="
INTEGRATION_LIMIT = 2 * 1024 * 1024
PLUGIN = "herdr's strawboss plugin"


def herdr(patient: Patient) -> Finding:
    address = herdr_address(patient.config, patient.environment, sys.platform)
    if isinstance(address, Unknown):
        return Finding("herdr", Health.FIX, address.why, "correct HERDR_SESSION")
    version = Herdr(address).ping()
    if isinstance(version, Unknown):
        return Finding(
            "herdr",
            Health.FIX,
            f"no answer at {address}: {version.why}",
            "start herdr, or run this inside it",
        )
    text = f"herdr {version.version}, protocol {version.protocol}"
    if version.protocol == TRIED_HERDR_PROTOCOL:
        return Finding("herdr", Health.OK, text)
    return Finding("herdr", Health.NOTE, f"{text} (strawboss was tried with protocol {TRIED_HERDR_PROTOCOL})")


def integration(patient: Patient) -> Finding:
    """Without it herdr never learns which session a pane is on, and no pane can be proved to be a run's."""
    file = agent_directory(patient.environment) / INTEGRATION
    fix = "run `herdr integration install pi`"
    try:
        text = file.read_text(errors="replace")[:INTEGRATION_LIMIT]
    except FileNotFoundError:
        return Finding("herdr's pi integration", Health.FIX, f"{file} is not there", fix)
    except OSError as error:
        return Finding("herdr's pi integration", Health.FIX, f"{file} cannot be read ({error.strerror})", fix)
    _, found, rest = text.partition(INTEGRATION_LINE)
    number = rest.split()[0].strip('";,') if found and rest.split() else "of unknown version"
    return Finding("herdr's pi integration", Health.OK, f"installed ({number})")


def herdr_plugin(patient: Patient) -> Finding:
    """Recovery does without it, so its absence is a note; one that would start another Python is to be mended."""
    try:
        command = HerdrCommand(patient.environment)
        version = command.version()
        linked = command.plugin(plugin.PLUGIN) if version >= plugin.OLDEST else None
    except HerdrCommandError as error:
        return Finding(PLUGIN, Health.NOTE, f"cannot be looked for ({error})")
    if version < plugin.OLDEST:
        return Finding(PLUGIN, Health.NOTE, f"herdr {plugin.dotted(version)} is too old for it")
    if linked is None:
        return Finding(PLUGIN, Health.NOTE, "not linked (`strawboss install` links it)")
    directory, python = plugin.plugin_directory().resolve(), _python(patient)
    if Path(linked.plugin_root) != directory or not plugin.is_current(directory, python):
        return Finding(PLUGIN, Health.FIX, "of another strawboss, or for another Python", INSTALL)
    if not linked.enabled:
        return Finding(PLUGIN, Health.NOTE, "switched off (`herdr plugin enable strawboss`)")
    return Finding(PLUGIN, Health.OK, f"linked ({linked.version})")


def _python(patient: Patient) -> str:
    return installation.read_python(patient.environment) or sys.executable


def intercom(patient: Patient) -> Finding:
    if patient.packages is not None and patient.package("pi-intercom") is None:
        return Finding("pi-intercom", Health.FIX, "pi does not load it", "run `pi install npm:pi-intercom`")
    address = intercom_address(patient.config, patient.environment, sys.platform, patient.cwd)
    if isinstance(address, Unknown):
        return Finding("pi-intercom", Health.FIX, address.why, "set HOME, or paths.intercom_directory")
    roster = Intercom(address, patient.cwd).roster()
    if isinstance(roster, Unknown):
        return Finding(
            "pi-intercom", Health.NOTE, f"no broker ({roster.why}); the first pi session starts it"
        )
    return Finding("pi-intercom", Health.OK, f"its broker answers, {len(roster)} sessions are on it")
