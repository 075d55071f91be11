"""The user's `config.yaml` and the environment variables that override it, checked before anything uses them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from strawboss.recovery.settings import LOOK_SECONDS, TURN_STARTING_TYPES, Beyond, Settings
from strawboss.system import directories
from strawboss.system.printable import printable

if TYPE_CHECKING:
    from strawboss.system.yaml_keys import Key, NotKeysError

SIZE_LIMIT = 256 * 1024
SHOWN = 60
PATHS = "paths."
GROUPS = frozenset({"paths"})
WORDS = {"on": True, "yes": True, "off": False, "no": False}

OVERRIDES = {
    "STRAWBOSS_INTERVAL": "interval",
    "STRAWBOSS_ROLE": "role",
    "STRAWBOSS_MODE": "mode",
    "STRAWBOSS_NUDGE": "nudge",
    "STRAWBOSS_RESTORED": "restored",
    "STRAWBOSS_RESUMED": "resumed",
    "STRAWBOSS_LOST": "lost",
}

# What to write instead, for every key there is.
EXPECTED = {
    "interval": "seconds between two looks, a number from 0.1 to 3600, for example 15",
    "role": "launcher or tower",
    "mode": "act or observe",
    "nudge": "on or off",
    "restored": "on or off",
    "resumed": "warn, recover or off",
    "lost": "warn, recover or off",
    "turn_starting_types": "a list of custom message types, for example [my_wake]",
    "tape_mib": "how many MiB a session's tape may take, a whole number from 0 (no tape) to 4096",
    "tapes_mib": "how many MiB all tapes together may take, a whole number from 1 to 65536",
    "tape_days": "after how many days a tape is deleted, a number from 0.1 to 3650",
    "paths": "a mapping with herdr_socket, intercom_directory or state",
    "paths.herdr_socket": "the absolute path of herdr's socket",
    "paths.intercom_directory": "the absolute path of the directory with pi-intercom's broker.sock",
    "paths.state": "the absolute path of a directory for logs, locks and tapes",
}


class ConfigError(Exception):
    """One line: where, what is wrong, what to write instead."""


class Paths(msgspec.Struct, frozen=True):
    """Only for what cannot be found by itself; None: found where its owner puts it."""

    herdr_socket: str | None = None
    intercom_directory: str | None = None
    state: str | None = None


class Config(msgspec.Struct, frozen=True):
    """`turn_starting_types`: custom message types of other extensions that start a turn, beside the known ones."""

    interval: Annotated[float, msgspec.Meta(ge=0.1, le=3600)] = LOOK_SECONDS
    role: Literal["launcher", "tower"] = "launcher"
    mode: Literal["act", "observe"] = "act"
    nudge: bool = True
    restored: bool = True
    resumed: Beyond = Beyond.WARN
    lost: Beyond = Beyond.WARN
    turn_starting_types: frozenset[str] = frozenset()
    tape_mib: Annotated[int, msgspec.Meta(ge=0, le=4096)] = 16
    tapes_mib: Annotated[int, msgspec.Meta(ge=1, le=65536)] = 256
    tape_days: Annotated[float, msgspec.Meta(ge=0.1, le=3650)] = 30
    paths: Paths = Paths()

    @property
    def settings(self) -> Settings:
        return Settings(
            self.interval,
            self.nudge,
            self.restored,
            self.resumed,
            self.lost,
            TURN_STARTING_TYPES | self.turn_starting_types,
            observe=self.mode == "observe",
        )


SHAPES = {field.name: field.type for field in msgspec.structs.fields(Config)} | {
    PATHS + name: str for name in Paths.__struct_fields__
}


def load_config(file: Path, environment: Mapping[str, str]) -> Config:
    """The config in `file` (defaults when there is none) with the overrides of `environment`; raises ConfigError."""
    written = _written(file) | {
        key: (_word(environment[variable]), variable)
        for variable, key in OVERRIDES.items()
        if environment.get(variable, "").strip()
    }
    values = {key: _checked(key, *each) for key, each in written.items()}
    paths = {key.removeprefix(PATHS): values.pop(key) for key in list(values) if key.startswith(PATHS)}
    return msgspec.structs.replace(Config(paths=msgspec.structs.replace(Paths(), **paths)), **values)


def state_directory(config: Config, environment: Mapping[str, str]) -> Path:
    """For logs, locks and tapes: `STRAWBOSS_STATE_DIR`, else `paths.state`, else the platform's."""
    overridden = environment.get("STRAWBOSS_STATE_DIR", "").strip()
    return (
        Path(config.paths.state) if config.paths.state and not overridden else directories.state_directory()
    )


def _written(file: Path) -> dict[str, tuple[object, str]]:
    """Each key that is set, with its value and where that stands; YAML itself would take the last of two."""
    written: dict[str, tuple[object, str]] = {}
    seen: set[str] = set()
    for key in _keys(file):
        where = f"{file}:{key.line}"
        if key.name not in EXPECTED:
            raise ConfigError(f"{where}: unknown key {_shown(key.name)}; {_suggestion(key.name)}")
        if key.name in seen:
            raise ConfigError(f"{where}: {key.name} is set twice; keep one of the two lines")
        seen.add(key.name)
        if not key.is_group:
            written[key.name] = key.value, f"{where}: {key.name}"
    return written


def _keys(file: Path) -> list[Key]:
    """yaml, which costs a process more than all else here, is imported only where there is something to read."""
    content = _content(file)
    if not content:
        return []
    from strawboss.system.yaml_keys import NotKeysError, keys_in

    try:
        return keys_in(content, GROUPS)
    except NotKeysError as error:
        where = f"{file}:{error.line}" if error.line else str(file)
        raise ConfigError(f"{where}: {_not_keys(error)}") from error


def _content(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            content = opened.read(SIZE_LIMIT + 1)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read ({error.strerror}); check its permissions") from error
    if len(content) > SIZE_LIMIT:
        raise ConfigError(f"{file}: larger than {SIZE_LIMIT // 1024} KiB; that is no strawboss config")
    return content


def _not_keys(error: NotKeysError) -> str:
    if error.problem is None:
        return f"expected lines like `interval: 15`, not {_shown(error.value)}"
    return f"not valid YAML ({printable(error.problem)[:SHOWN]}); write lines like `interval: 15`"


def _suggestion(name: str) -> str:
    from difflib import get_close_matches

    prefix = PATHS if name.startswith(PATHS) else ""
    known = [key for key in EXPECTED if key.startswith(prefix) and ("." in key) == bool(prefix)]
    close = get_close_matches(name, known, n=1)
    return f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"


def read_word(key: str, text: str) -> object:
    """The value of a key as one word: a list with commas between its members. Raises ConfigError."""
    members = [member.strip(" []") for member in text.split(",")]
    value = [member for member in members if member] if key == "turn_starting_types" else _word(text)
    return _checked(key, value, key)


def _word(text: str) -> object:
    """A value of the environment; numbers are read where one is expected."""
    return WORDS.get(text.strip().lower(), text.strip())


def _checked(key: str, value: object, origin: str) -> object:
    if SHAPES[key] is Beyond and value is False:
        value = "off"  # YAML takes the word for a boolean
    try:
        checked = msgspec.convert(value, SHAPES[key], strict=False)
        return _absolute(str(checked)) if key.startswith(PATHS) else checked
    except (msgspec.ValidationError, ValueError, RuntimeError) as error:
        raise ConfigError(f"{origin}: expected {EXPECTED[key]}, not {_shown(value)}") from error


def _absolute(path: str) -> str:
    """A relative one would mean another place in every session; raises ValueError."""
    expanded = Path(path).expanduser()
    if not expanded.is_absolute():
        raise ValueError(path)
    return str(expanded)


def _shown(value: object) -> str:
    text = printable(str(value)) if not isinstance(value, bool) else ("on" if value else "off")
    return repr(text if len(text) <= SHOWN else text[: SHOWN - 1] + "…")
