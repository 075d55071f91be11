"""Where a project and its worktrees are: found upwards from where one stands, and never made by a mistyped path.

Only `swarm:pre-dispatch --action begin`, `swarm:launch` and a worker's first write make directories, and these only
inside a worktree that is there (docs/heartbeat.md#the-record).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from strawboss.heartbeat.layout import SCRATCH, STATUS_DIRECTORY, Worktree, worktree_of
from strawboss.system.files import FILE_MODE, make_private_directory


class NoPlaceError(Exception):
    """A directory that had to be there is not; one line says which, and what to do."""


def project_root(start: Path) -> Path:
    """The project `start` is in: the nearest directory with AGENTS.md and vbrief, or of a git tree; else `start`."""
    return _root_above(start) or start.absolute()


def _root_above(start: Path) -> Path | None:
    here = start.absolute()
    return next((one for one in (here, *here.parents) if _is_root(one)), None)


def _is_root(directory: Path) -> bool:
    # The tree of a worker may lie inside the project's: whichever boundary comes first is the worker's own.
    is_project = (directory / "AGENTS.md").is_file() and (directory / "vbrief").is_dir()
    return is_project or (directory / ".git").exists()


def ledger_roots(root: Path) -> tuple[Path, ...]:
    """Projects whose ledger may know a worker of `root`: its own, those around it, and the clone a linked tree is of."""
    roots = list(_around(root))
    return tuple(dict.fromkeys([*roots, *filter(None, map(_main_worktree, roots))]))


def _around(root: Path) -> Iterator[Path]:
    yield root
    while (above := _root_above(root.absolute().parent)) is not None and above != root:
        root = above
        yield root


def _main_worktree(root: Path) -> Path | None:
    """`.git` of a linked tree is a file that names `<clone>/.git/worktrees/<name>`."""
    try:
        text = (root / ".git").read_text(errors="replace")
    except OSError:
        return None
    gitdir = Path(root, text.removeprefix("gitdir:").strip().splitlines()[0] if text.strip() else "")
    return gitdir.parents[2] if gitdir.parent.name == "worktrees" else None


def find_target(text: str, root: Path, start: Path) -> Path:
    """The absolute path a target means, whether it exists or not: as seen from here, else below the project.

    Raises NoPlaceError when both exist and differ.
    """
    here, below = (Path(os.path.abspath(base / text)) for base in (start, root))  # noqa: PTH100 - links stay
    there = [one for one in dict.fromkeys((here, below)) if one.is_dir()]
    if len(there) > 1 and not here.samefile(below):
        raise NoPlaceError(f"{text} may be {here} or {below}; give an absolute path")
    return there[0] if there else below


def existing_worktree(text: str | None, start: Path) -> Worktree:
    """The worktree a target means, the one `start` is in without a target. Raises NoPlaceError."""
    root = project_root(start)
    path = find_target(text, root, start) if text else root
    if not path.is_dir():
        raise NoPlaceError(f"{text} is not a directory; give the worktree of the agent")
    return Worktree(path)


def check_status_directory(directory: Path) -> None:
    """Raises NoPlaceError: a directory that is not there says nothing of any worker."""
    if not directory.is_dir():
        raise NoPlaceError(
            f"{directory} is not a status directory; the parent makes it with swarm:pre-dispatch or swarm:launch"
        )


def check_steer_directory(directory: Path) -> None:
    """Raises NoPlaceError. No steer directory means that nobody was steered, in a worktree that is in use."""
    root = worktree_of(directory)
    in_use = root is not None and (root / STATUS_DIRECTORY).is_dir()
    if directory.exists() and not directory.is_dir():
        raise NoPlaceError(f"{directory} is not a directory")
    if not directory.is_dir() and not in_use:
        raise NoPlaceError(
            f"{directory} is not there, and no status directory beside it: is it the right worktree?"
        )


def make_scratch(directory: Path) -> Path:
    """Make a directory of the contract in a worktree that is there, and keep `.deft-scratch` out of git.

    Raises OSError, also when the worktree is not there.
    """
    root = worktree_of(directory)
    if not (root or directory).is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such directory", str(root or directory))
    make_private_directory(directory)
    if root is not None:
        _ignore(root / SCRATCH / ".gitignore")
    return directory


def _ignore(path: Path) -> None:
    with suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
        with os.fdopen(descriptor, "wb") as file:
            file.write(b"*\n")
