"""The agent registry: a YAML file of who there is, what they can do, and how they are started.

Source: docs/wakeup.md#the-agent-registry.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import yaml

from strawboss.heartbeat.layout import SLUG_RULE, is_safe_slug
from strawboss.system import yaml_lines
from strawboss.system.directories import config_directory, state_directory
from strawboss.system.files import make_private_directory, write_atomically
from strawboss.system.yaml_lines import Lined, TwiceError

# Far more than a thousand agents with long prompts; a bigger file is a mistake.
LARGEST_REGISTRY = 16 << 20
USUAL_LEVEL = 3
DURATION = re.compile(r"(\d+(?:\.\d+)?)(s|m|h)")
SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
# How a command gets its prompt; without one of these it comes on standard input.
PROMPT_PLACEHOLDERS = ("{prompt}", "{prompt_file}")

# Names become file names and parts of lines that people read: 64 letters of any script, and no more bytes than fit.
LONGEST_NAME, MOST_NAME_BYTES = 64, 200
NAME_RULE = "write at most 64 letters, digits, - and _, the first one a letter or digit"
Level = Annotated[int, msgspec.Meta(ge=1, le=5)]
Tokens = Annotated[int, msgspec.Meta(ge=0)]
Permission = Literal["delegate", "approve"]


class RegistryError(Exception):
    """The registry cannot be used; `str()` is one line that names file and place."""


def is_name(text: str) -> bool:
    """Letters and their marks, digits, `-` and `_`; in one spelling only, where Unicode has two for the same letters."""
    kinds = [unicodedata.category(letter)[0] for letter in text]
    plain = all(kind in "LMN" or letter in "-_" for letter, kind in zip(text, kinds, strict=True))
    short = 0 < len(text) <= LONGEST_NAME and len(text.encode(errors="replace")) <= MOST_NAME_BYTES
    return plain and short and kinds[0] in "LN" and unicodedata.is_normalized("NFC", text)


class Agent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One agent. `capabilities` is a list, or a mapping to levels of 1 to 5; `budget` in tokens, None for no limit.

    `scope` and `workspace` say where and how it may work; `permissions` what it may do to others: delegate, approve.
    `quiet_ok`: its command says nothing for long by nature; its silence is no stall.
    """

    name: str
    id: str = ""
    role: str = ""
    title: str = ""
    capabilities: list[str] | dict[str, Level] = msgspec.field(default_factory=list)
    scope: Literal["read-only", "read-write"] = "read-write"
    permissions: frozenset[Permission] = frozenset({"delegate"})
    workspace: str = ""
    system_prompt: str = ""
    command: list[str] | str = ""
    pty: bool = False
    quiet_ok: bool = False
    time_limit: str = "1h"
    budget: Tokens | None = None

    def __post_init__(self) -> None:
        if not is_name(self.name):
            raise ValueError(f"name {self.name!r} cannot be one; {NAME_RULE}")
        if not is_safe_slug(self.slug):
            raise ValueError(f"id {self.id!r} cannot be a file name; use {SLUG_RULE}")
        match = DURATION.fullmatch(self.time_limit)
        if match is None or float(match[1]) == 0:
            raise ValueError(f"time_limit {self.time_limit!r} is not a duration; write for example 30m or 2h")
        try:
            argv = self.argv
        except ValueError as error:
            raise ValueError(f"command {self.command!r} cannot be split into words: {error}") from None
        if self.pty and not any(place in part for part in argv for place in PROMPT_PLACEHOLDERS):
            raise ValueError(
                "a command in a PTY cannot read its prompt from there; write {prompt} or {prompt_file}"
            )

    @property
    def slug(self) -> str:
        """The id, which names its heartbeat file: ASCII, as the heartbeat contract has it."""
        if self.id or self.name.isascii():
            return self.id or f"agent-{self.name}"
        return f"agent-{hashlib.sha256(self.name.encode()).hexdigest()[:8]}"

    @property
    def levels(self) -> dict[str, int]:
        """How good it is at each of its capabilities, 1 to 5."""
        if isinstance(self.capabilities, dict):
            return dict(self.capabilities)
        return dict.fromkeys(self.capabilities, USUAL_LEVEL)

    @property
    def argv(self) -> list[str]:
        return shlex.split(self.command) if isinstance(self.command, str) else list(self.command)

    @property
    def time_limit_seconds(self) -> float:
        match = DURATION.fullmatch(self.time_limit)
        assert match is not None
        return float(match[1]) * SECONDS[match[2]]

    @property
    def directory(self) -> Path:
        """The directory it works in, where its heartbeat file is too."""
        if self.workspace:
            return Path(self.workspace).expanduser()
        return Path(state_directory(), "agents", self.name)


class Registry(msgspec.Struct, frozen=True):
    """All agents, in the order of the file."""

    path: Path
    agents: tuple[Agent, ...]

    def get(self, name: str) -> Agent:
        """The agent of that name or id. Raises RegistryError when there is none."""
        for agent in self.agents:
            if name in (agent.name, agent.slug):
                return agent
        known = ", ".join(agent.name for agent in self.agents[:20]) or "none yet"
        raise RegistryError(f"{self.path}: no agent is named {name!r}; there are: {known}")


class _File(msgspec.Struct, forbid_unknown_fields=True):
    agents: list[Agent] = msgspec.field(default_factory=list)


def registry_path() -> Path:
    """`STRAWBOSS_AGENTS`, else `agents.yaml` in the config directory."""
    value = os.environ.get("STRAWBOSS_AGENTS", "").strip()
    return Path(value).expanduser() if value else config_directory() / "agents.yaml"


def load(path: Path | None = None) -> Registry:
    """Read the registry; a file that is not there is an empty one. Raises RegistryError for anything else."""
    path = path or registry_path()
    return Registry(path, parse(path, _read(path)))


def parse(path: Path, text: str) -> tuple[Agent, ...]:
    """The agents of a registry's text. Raises RegistryError, naming `path` and the place in it."""
    try:
        content = yaml_lines.load(text)
    except TwiceError as twice:
        words = f"line {twice.second}: {twice.key!r} is there twice, first in line {twice.first}; keep one of them"
        raise RegistryError(f"{path}: {words}") from None
    except yaml.YAMLError as error:
        raise RegistryError(f"{path}: {_yaml_complaint(error)}") from None
    except (ValueError, RecursionError) as error:
        raise RegistryError(f"{path}: the file: {error}") from None
    try:
        agents = msgspec.convert({} if content.value is None else content.value, _File).agents
    except (msgspec.ValidationError, RecursionError) as error:
        raise RegistryError(f"{path}: {_place(error, content)}") from None
    _unique(path, [agent.name for agent in agents], "name")
    _unique(path, [agent.slug for agent in agents], "id")
    return tuple(agents)


def append(path: Path, agent: Agent) -> None:
    """Add an agent at the end of the file and keep every other byte of it. Raises RegistryError."""
    text = _read(path)
    before = parse(path, text)
    entry = yaml.safe_dump([msgspec.to_builtins(agent)], sort_keys=False, allow_unicode=True)
    head = text if before else "agents:\n"
    longer = (head if head.endswith("\n") else head + "\n") + _indented(
        entry, _indentation(text) if before else "  "
    )
    if parse(path, longer) != (*before, agent):
        raise RegistryError(f"{path}: its form does not let an agent be added at the end; add it by hand")
    make_private_directory(path.parent)
    write_atomically(path, longer.encode())


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_REGISTRY + 1)
        if len(content) > LARGEST_REGISTRY:
            raise RegistryError(f"{path}: larger than {LARGEST_REGISTRY >> 20} MiB, that is no registry")
        return content.decode()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise RegistryError(
            f"{path}: cannot be read: {getattr(error, 'strerror', None) or 'not UTF-8'}"
        ) from None


def _yaml_complaint(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return f"not YAML: {where}{getattr(error, 'problem', None) or 'cannot be read'}"


def _place(error: Exception, content: Lined) -> str:
    # msgspec writes "Expected `int`, got `str` - at `$.agents[2].budget`"; the place first reads better. Its words for a
    # whole entry begin with the key, or have it between backticks.
    complaint, _, place = str(error).partition(" - at `$")
    place = place.strip(".`")
    key = re.search(r"field `(\w+)`", complaint) or re.match(r"(\w+)", complaint)
    line = content.line(place, key[1] if key else "")
    return f"line {line}: {place or 'the file'}: {complaint}"


def _unique(path: Path, values: list[str], what: str) -> None:
    twice = [value for value, count in Counter(values).items() if count > 1]
    if twice:
        raise RegistryError(f"{path}: two agents have the {what} {twice[0]!r}; each needs its own")


def _indentation(text: str) -> str:
    match = re.search(r"^( *)- ", text, re.MULTILINE)
    return match[1] if match else "  "


def _indented(text: str, by: str) -> str:
    return "".join(f"{by}{line}" for line in text.splitlines(keepends=True))
