"""Where a worker runs, from what its environment says: the classes GitHub access depends on.

One probe, pure over the facts given; `facts_of_this_process` is the only part that looks.

Source: docs/heartbeat.md#github-from-the-worker.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

TRUE_WORDS = frozenset({"1", "true", "yes", "on"})
UID_MAP = Path("/proc/self/uid_map")


@dataclass(frozen=True, slots=True)
class UidRange:
    """One line of a uid map."""

    inside_id: int
    outside_id: int
    length: int


@dataclass(frozen=True, slots=True)
class Facts:
    """What the probe judges. `uid` is None where the system has none."""

    environment: Mapping[str, str]
    uid: int | None = None
    uid_map: tuple[UidRange, ...] = ()


@dataclass(frozen=True, slots=True)
class Runtime:
    """`sandbox_uid_remap`: uid 0 inside is the local user outside; it is no access as root of the host."""

    mode: str
    reason: str
    identity_kind: str
    sandbox_uid_remap: bool


def probe(facts: Facts) -> Runtime:
    remapped = _remapped(facts)
    mode, reason = _mode(facts.environment, remapped)
    return Runtime(mode, reason, _identity(facts.uid, remapped), remapped)


def _mode(environment: Mapping[str, str], remapped: bool) -> tuple[str, str]:
    if _is_ci(environment):
        return "cloud-headless", "ci-marker"
    if remapped or _true(environment, "CURSOR_SANDBOX") or environment.get("CURSOR_SANDBOX_LANDLOCK_STATUS"):
        return "cursor-native-sandbox", "cursor-sandbox-marker"
    if _true(environment, "CURSOR_AGENT"):
        if environment.get("DEFT_GITHUB_AUTH_MODE") == "host-gh":
            return "local-unsandboxed", "explicit-host-gh-selection"
        return "cloud-headless", "cursor-marker-runtime-ambiguous"
    return "local-unsandboxed", "no-runtime-marker"


def _is_ci(environment: Mapping[str, str]) -> bool:
    runtime = environment.get("DEFT_AGENT_RUNTIME", "").strip().lower()
    by_runner = _true(environment, "CI") and not _true(environment, "CURSOR_COMPOSER")
    return (
        runtime in ("cloud", "headless")
        or _true(environment, "GITHUB_ACTIONS")
        or _true(environment, "BUILDKITE")
        or by_runner
    )


def _remapped(facts: Facts) -> bool:
    outside = facts.environment.get("CURSOR_ORIG_UID", "")
    if facts.uid != 0 or not outside.isdecimal():
        return False
    return any(each.inside_id == 0 and each.outside_id == int(outside) for each in facts.uid_map)


def _identity(uid: int | None, remapped: bool) -> str:
    if uid is None:
        return "unknown"
    if remapped:
        return "sandbox-remapped-local-user"
    return "real-root" if uid == 0 else "local-user"


def _true(environment: Mapping[str, str], name: str) -> bool:
    return environment.get(name, "").strip().lower() in TRUE_WORDS


def facts_of_this_process() -> Facts:
    return Facts(
        os.environ,
        os.geteuid() if hasattr(os, "geteuid") else None,
        parse_uid_map(_read(UID_MAP)),
    )


def parse_uid_map(text: str) -> tuple[UidRange, ...]:
    """Lines of three numbers; others are left out."""
    lines = (line.split() for line in text.splitlines())
    return tuple(
        UidRange(*map(int, fields))
        for fields in lines
        if len(fields) == 3 and all(map(str.isdecimal, fields))
    )


def _read(path: Path) -> str:
    with suppress(OSError):
        return path.read_text()
    return ""
