"""Every check, in the order in which one would repair."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from strawboss.config import Config, ConfigError, load_config
from strawboss.doctor.finding import Finding, Health, Patient
from strawboss.doctor.launchers import launchers
from strawboss.doctor.neighbours import herdr, herdr_plugin, integration, intercom
from strawboss.doctor.own_files import locks, permissions
from strawboss.doctor.pi import extension, pi_version, python, registry, shim
from strawboss.pi.command import Pi, PiError, extension_packages
from strawboss.system import directories

CHECKS: tuple[Callable[[Patient], Finding], ...] = (
    python,
    pi_version,
    shim,
    extension,
    herdr,
    integration,
    herdr_plugin,
    intercom,
    registry,
    permissions,
    locks,
    launchers,
)

# Without pi each of these would only say again that there is none.
NEED_PI = frozenset({python, shim, extension, integration, registry})


def examine(environment: Mapping[str, str]) -> list[Finding]:
    """Every check, in the order in which one would repair."""
    config = _config(environment)
    loaded = Config() if isinstance(config, Finding) else config
    patient = _patient(environment, loaded)
    first = config if isinstance(config, Finding) else Finding("config", Health.OK, _config_text())
    waiting = NEED_PI if isinstance(patient.pi, PiError) else frozenset()
    return [first, *(check(patient) for check in CHECKS if check not in waiting)]


def _config(environment: Mapping[str, str]) -> Config | Finding:
    try:
        return load_config(directories.config_file(), environment)
    except ConfigError as error:
        return Finding("config", Health.FIX, str(error), "correct that line")


def _config_text() -> str:
    file = directories.config_file()
    return f"{file} is valid" if file.exists() else f"no {file}: the defaults hold"


def _patient(environment: Mapping[str, str], config: Config) -> Patient:
    try:
        pi = Pi(environment)
        return Patient(environment, config, pi, pi.packages(), extension_packages(environment))
    except PiError as error:
        return Patient(environment, config, error)
