"""git worktrees, made and listed by the real git."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any


class GitError(Exception):
    """What git said."""


def git(cwd: str, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", cwd, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise GitError(done.stderr.strip())
    return done.stdout


def repository(cwd: str) -> str:
    """The main checkout of the repository `cwd` belongs to."""
    common = git(cwd, "rev-parse", "--path-format=absolute", "--git-common-dir").strip()
    return str(Path(common).parent)


def membership(root: str, checkout: str) -> dict[str, Any]:
    return {
        "repo_key": f"{root}/.git",
        "repo_name": Path(root).name,
        "repo_root": root,
        "checkout_path": checkout,
        "is_linked_worktree": checkout != root,
    }


def add(root: str, branch: str, base: str | None, path: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    git(root, "worktree", "add", "-b", branch, path, *([base] if base else []))


def listed(root: str) -> list[dict[str, Any]]:
    blocks = git(root, "worktree", "list", "--porcelain").strip().split("\n\n")
    return [_entry(root, dict(line.partition(" ")[::2] for line in block.splitlines())) for block in blocks]


def _entry(root: str, told: dict[str, str]) -> dict[str, Any]:
    branch = {"branch": told["branch"].removeprefix("refs/heads/")} if "branch" in told else {}
    return {
        "path": told["worktree"],
        **branch,
        "is_bare": "bare" in told,
        "is_detached": "detached" in told,
        "is_prunable": "prunable" in told,
        "is_linked_worktree": told["worktree"] != root,
        "label": Path(root).name,
    }
