"""The user's `config.yaml` and the environment variables that override it, checked before anything uses them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import yaml

from strawboss.recovery.settings import LOOK_SECONDS, TURN_STARTING_TYPES, Settings
from strawboss.system import directories
from strawboss.system.printable import printable

SIZE_LIMIT = 256 * 1024
SHOWN = 60
PATHS = "paths."
NULL = "tag:yaml.org,2002:null"

OVERRIDES = {
    "STRAWBOSS_INTERVAL": "interval",
    "STRAWBOSS_ROLE": "role",
    "STRAWBOSS_MODE": "mode",
    "STRAWBOSS_NUDGE": "nudge",
    "STRAWBOSS_RESTORED": "restored",
}

# What to write instead, for every key there is.
EXPECTED = {
    "interval": "seconds between two looks, a number from 0.1 to 3600, for example 15",
    "role": "launcher or tower",
    "mode": "act or observe",
    "nudge": "on or off",
    "restored": "on or off",
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
            TURN_STARTING_TYPES | self.turn_starting_types,
            observe=self.mode == "observe",
        )


SHAPES = {field.name: field.type for field in msgspec.structs.fields(Config)} | {
    PATHS + name: str for name in Paths.__struct_fields__
}


def load_config(file: Path, environment: Mapping[str, str]) -> Config:
    """The config in `file` (defaults when there is none) with the overrides of `environment`; raises ConfigError."""
    root = _composed(file)
    _check_keys(file, root, "")
    written = {
        key: (_constructed(node), f"{file}:{node.start_mark.line + 1}: {key}")
        for key, node in _leaves(root, "")
    }
    written |= {
        key: (_scalar(environment[variable]), variable)
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


def _composed(file: Path) -> yaml.MappingNode:
    try:
        with file.open("rb") as opened:
            content = opened.read(SIZE_LIMIT + 1)
    except FileNotFoundError:
        content = b""
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read ({error.strerror}); check its permissions") from error
    if len(content) > SIZE_LIMIT:
        raise ConfigError(f"{file}: larger than {SIZE_LIMIT // 1024} KiB; that is no strawboss config")
    try:
        root = yaml.compose(content.decode(), Loader=yaml.SafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(_not_yaml(file, error)) from error
    if root is None or root.tag == NULL:
        return yaml.MappingNode("tag:yaml.org,2002:map", [])
    if not isinstance(root, yaml.MappingNode):
        raise ConfigError(f"{file}:1: expected lines like `interval: 15`, not {_shown(_constructed(root))}")
    return root


def _not_yaml(file: Path, error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it is nested too deeply"
    where = f"{file}:{mark.line + 1}" if mark else str(file)
    return f"{where}: not valid YAML ({printable(str(problem))[:SHOWN]}); write lines like `interval: 15`"


def _leaves(mapping: yaml.MappingNode, prefix: str) -> Iterator[tuple[str, yaml.Node]]:
    """Every key with its value, those of `paths` by their own names."""
    for key, value in mapping.value:
        name = prefix + str(key.value)
        if name + "." == PATHS and isinstance(value, yaml.MappingNode):
            yield from _leaves(value, PATHS)
        elif name + "." != PATHS or value.tag != NULL:
            yield name, value


def _check_keys(file: Path, mapping: yaml.MappingNode, prefix: str) -> None:
    """Unknown and repeated keys, with their line; YAML itself would take the last of two."""
    seen: set[str] = set()
    for key, value in mapping.value:
        name, where = prefix + str(key.value), f"{file}:{key.start_mark.line + 1}"
        if name not in EXPECTED:
            raise ConfigError(f"{where}: unknown key {_shown(name)}; {_suggestion(name, prefix)}")
        if name in seen:
            raise ConfigError(f"{where}: {name} is set twice; keep one of the two lines")
        seen.add(name)
        if name + "." == PATHS and isinstance(value, yaml.MappingNode):
            _check_keys(file, value, PATHS)


def _suggestion(name: str, prefix: str) -> str:
    known = [key for key in EXPECTED if key.startswith(prefix) and ("." in key) == bool(prefix)]
    close = get_close_matches(name, known, n=1)
    return f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"


def _constructed(node: yaml.Node) -> object:
    """The node as plain data; aliases cannot blow it up, for the file is small and anchors are shared, not copied."""
    loader = yaml.SafeLoader("")
    try:
        return loader.construct_document(node)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return error


def _scalar(text: str) -> object:
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        return text


def _checked(key: str, value: object, origin: str) -> object:
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
