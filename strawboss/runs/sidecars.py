"""The small JSON files beside a run: its policy sidecar and its worktree manifest.

Source: docs/design.md#what-lies-where.
"""

from __future__ import annotations

import msgspec

from strawboss.recovery.evidence import Policy, Worktree
from strawboss.recovery.verdict import Unknown
from strawboss.runs.foreign_files import read_whole

POLICY_SUFFIX = ".pi-herdr-subagent-policy.json"
EXIT_SUFFIX = ".exit"
POLICY = "its policy sidecar"
MANIFEST = "its worktree manifest"
LIMIT = 4 * 1024 * 1024  # both may list tools or files
POLICY_VERSIONS = frozenset({1, 2})


class _Policy(msgspec.Struct):
    version: int
    owner: str
    persistent: bool = False  # version 1 knows no persistent runs


_policies = msgspec.json.Decoder(_Policy)
_manifests = msgspec.json.Decoder(dict[str, object])


def read_policy(path: str) -> Policy | Unknown | None:
    content = read_whole(path, POLICY, LIMIT)
    return parse_policy(content) if isinstance(content, bytes) else content


def read_worktree(path: str) -> Worktree | Unknown | None:
    content = read_whole(path, MANIFEST, LIMIT)
    return parse_worktree(content) if isinstance(content, bytes) else content


def parse_policy(content: bytes) -> Policy | Unknown:
    """Any owner is kept: what it means is decided elsewhere."""
    try:
        policy = _policies.decode(content)
    except (ValueError, RecursionError):
        return Unknown(f"{POLICY} is torn or not understood")
    if policy.version not in POLICY_VERSIONS:
        return Unknown(f"{POLICY} has version {policy.version}, which is not known here")
    return Policy(policy.owner, policy.persistent)


def parse_worktree(content: bytes) -> Worktree | Unknown:
    """That it is there is what counts; members that are missing or are no text stay empty."""
    try:
        manifest = _manifests.decode(content)
    except (ValueError, RecursionError):
        return Unknown(f"{MANIFEST} is torn or not understood")
    state, pane, path, branch = (_text(manifest.get(key)) for key in ("state", "paneId", "path", "branch"))
    return Worktree(state, pane, path, branch)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
