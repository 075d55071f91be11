"""Looks at everything strawboss stands on, and says for each what to do about it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

import filelock

from strawboss.config import Config, ConfigError, load_config, state_directory
from strawboss.herdr import installation as plugin
from strawboss.herdr.client import Herdr
from strawboss.herdr.command import HerdrCommand, HerdrCommandError
from strawboss.intercom.client import Intercom
from strawboss.pi import installation
from strawboss.pi.command import Package, Pi, PiError, agent_directory, extension_packages, version_numbers
from strawboss.pi.wrapper import stays_in_front
from strawboss.recovery.verdict import Unknown
from strawboss.resident.connections import herdr_address, intercom_address
from strawboss.system import directories

OLDEST_PI = (1, 2, 0)
TRIED_PI = (1, 6, 0)
TRIED_HERDR_PROTOCOL = 20
INTEGRATION = Path("extensions", "herdr-agent-state.ts")
INTEGRATION_LINE = "HERDR_INTEGRATION_VERSION="
REGISTRY_WORDS = ("pi-subagents/runtime", "runningSubagents")
SOURCE_LIMIT = 2 * 1024 * 1024
PYTHON_SECONDS = 20.0
PLUGIN = "herdr's strawboss plugin"
INSTALL = "run `strawboss install`"
NOT_YET = "a process starts with a session's first subagent; /strawboss in pi tells whether it is off"


class Health(Enum):
    OK = "ok"
    NOTE = "note"  # may well be as it should
    FIX = "fix"


@dataclass(frozen=True, slots=True)
class Finding:
    """`text` says what was found; `fix` what to do, empty when nothing needs to be done."""

    subject: str
    health: Health
    text: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Patient:
    """What the checks look at. `packages` is None when pi could not be asked."""

    environment: Mapping[str, str]
    config: Config
    pi: Pi | PiError
    packages: tuple[Package, ...] | None = None
    extensions: tuple[Package, ...] = ()
    cwd: str = field(default_factory=os.getcwd)

    @property
    def state(self) -> Path:
        return state_directory(self.config, self.environment)

    def package(self, name: str) -> Package | None:
        return next(
            (package for package in (*(self.packages or ()), *self.extensions) if package.name == name), None
        )


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


# -- Python and pi ---------------------------------------------------------------------------------------------


def python(patient: Patient) -> Finding:
    named = patient.environment.get("STRAWBOSS_PYTHON") or installation.read_python(patient.environment)
    if named is None:
        file = installation.python_file(patient.environment)
        return Finding("python", Health.FIX, f"{file} names no Python", INSTALL)
    try:
        done = subprocess.run(
            [named, "-P", "-m", "strawboss", "--version"],
            capture_output=True,
            timeout=PYTHON_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("python", Health.FIX, f"{named} does not run ({error})", INSTALL)
    if done.returncode != 0:
        return Finding("python", Health.FIX, f"{named} has no strawboss", INSTALL)
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("python", Health.OK, f"pi starts {named} (this is Python {version})")


def pi_version(patient: Patient) -> Finding:
    if isinstance(patient.pi, PiError):
        return Finding(
            "pi", Health.FIX, str(patient.pi), "make `pi` runnable; what depends on it is not looked at"
        )
    try:
        version = patient.pi.version()
    except PiError as error:
        return Finding("pi", Health.FIX, str(error), "make `pi` runnable")
    numbers = version_numbers(version)
    if isinstance(numbers, Unknown):
        return Finding("pi", Health.NOTE, f"{numbers.why}; strawboss was tried with 1.6.0")
    if numbers < OLDEST_PI:
        return Finding("pi", Health.FIX, f"pi {version} is too old", "update pi to 1.6.0 or newer")
    untried = "" if numbers[:2] == TRIED_PI[:2] else " (strawboss was tried with 1.6.0)"
    return Finding("pi", Health.NOTE if untried else Health.OK, f"pi {version}{untried}")


def shim(patient: Patient) -> Finding:
    """With two pis in the foreground of a pane it can never be told which one is the run."""
    if isinstance(patient.pi, PiError):
        return Finding("pi command", Health.FIX, str(patient.pi), "make `pi` runnable")
    path = Path(patient.pi.path)
    try:
        staying = stays_in_front(path)
    except OSError as error:
        return Finding("pi command", Health.NOTE, f"{path} cannot be read ({error.strerror})")
    if not staying:
        return Finding("pi command", Health.OK, f"{path} leaves one pi in the foreground")
    text = f"{path} is {staying}: a second process stays in every pane, so nothing will be done there"
    return Finding("pi command", Health.FIX, text, "put the directory of the real pi first on PATH")


def extension(patient: Patient) -> Finding:
    if patient.packages is None:
        return Finding("extension", Health.FIX, "pi cannot be asked for its packages", "make `pi` runnable")
    if installation.registered(patient.packages):
        return Finding("extension", Health.OK, f"pi loads {installation.EXTENSION}")
    return Finding("extension", Health.FIX, "pi does not load strawboss", INSTALL)


def registry(patient: Patient) -> Finding:
    """The Map itself exists only inside a running pi; what the package's source says of it is the next best."""
    package = patient.package("pi-herdr-agents")
    if package is None:
        return Finding(
            "pi-herdr-agents",
            Health.FIX,
            "pi does not load it",
            "run `pi install npm:pi-herdr-agents`",
        )
    if _source_names(package.path, REGISTRY_WORDS):
        told = f"{package.version} keeps its registry where it is read (judged from its source; /strawboss in pi tells)"
        return Finding("pi-herdr-agents", Health.OK, told)
    return Finding(
        "pi-herdr-agents",
        Health.FIX,
        f"{package.version} does not keep runningSubagents (judged from its source), so nothing will be done",
        "use a version that does, 1.3.0 for example",
    )


def _source_names(directory: Path, words: Iterable[str]) -> bool:
    missing = set(words)
    for file in _sources(directory):
        text = file.read_text(errors="replace")
        missing -= {word for word in missing if word in text}
        if not missing:
            return True
    return False


def _sources(directory: Path) -> Iterable[Path]:
    for folder, folders, names in os.walk(directory):
        folders[:] = [name for name in folders if name not in {"node_modules", ".git"}]
        for name in names:
            file = Path(folder, name)
            if file.suffix in {".ts", ".js", ".mjs"} and file.stat().st_size <= SOURCE_LIMIT:
                yield file


# -- neighbours ------------------------------------------------------------------------------------------------


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
        text = file.read_text(errors="replace")[:SOURCE_LIMIT]
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


# -- our own files ---------------------------------------------------------------------------------------------


def permissions(patient: Patient) -> Finding:
    state = patient.state
    if not state.exists():
        return _to_be_made(state)
    try:
        open_to_others = [path for path in [state, *state.rglob("*")] if _is_open_to_others(path)]
    except OSError as error:
        return Finding(
            "files", Health.FIX, f"{state} cannot be used ({error.strerror})", f"make {state} yours"
        )
    if not os.access(state, os.W_OK):
        return Finding("files", Health.FIX, f"{state} cannot be written", f"make {state} yours")
    if open_to_others:
        fix = f"run `chmod -R go-rwx {state}`"
        return Finding("files", Health.FIX, f"others may read {open_to_others[0]}", fix)
    return Finding("files", Health.OK, f"{state} is private")


def _to_be_made(state: Path) -> Finding:
    above = next((one for one in state.parents if one.exists()), state.parent)
    if above.is_dir() and os.access(above, os.W_OK | os.X_OK):
        return Finding("files", Health.OK, f"no {state} yet: the first session makes it")
    return Finding(
        "files", Health.FIX, f"{state} cannot be made in {above}", f"make {above} a directory of yours"
    )


def _is_open_to_others(path: Path) -> bool:
    return (
        sys.platform != "win32"
        and bool(path.lstat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))
        and not path.is_symlink()
    )


def locks(patient: Patient) -> Finding:
    """Tries the lock for real: some network file systems only pretend. Nothing of it stays."""
    directory = patient.state / "locks"
    if not directory.exists() and not patient.state.is_file():
        return Finding("lock", Health.OK, f"no {directory} yet: the first session makes it ({NOT_YET})")
    held = sum(_is_held(file) for file in directory.glob("*.lock"))
    probe = directory / ".doctor.lock"
    try:
        with filelock.FileLock(probe, timeout=0):
            excludes = _is_held(probe)
        probe.unlink(missing_ok=True)
    except (OSError, NotImplementedError, filelock.Timeout) as error:
        return Finding(
            "lock", Health.FIX, f"no lock can be taken in {directory} ({error})", "set paths.state elsewhere"
        )
    if not excludes:
        return Finding(
            "lock", Health.FIX, f"locks in {directory} exclude nobody", "set paths.state to a local disk"
        )
    watched = (
        f"{held} sessions are being watched now" if held else f"no session is being watched now ({NOT_YET})"
    )
    return Finding("lock", Health.OK, f"locks work; {watched}")


def _is_held(file: Path) -> bool:
    lock = filelock.FileLock(file, timeout=0, thread_local=False)
    try:
        with lock:
            return False
    except filelock.Timeout:
        return True
    except OSError:
        return False


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
)

# Without pi each of these would only say again that there is none.
NEED_PI = frozenset({python, shim, extension, integration, registry})
