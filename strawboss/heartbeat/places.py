"""Where a project and its worktrees are: found upwards from where one stands, and never made by a mistyped path.

Only `swarm:pre-dispatch --action begin`, `swarm:launch` and a worker's first write make directories, and these only
inside a worktree that is there (docs/heartbeat.md#the-record).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from strawboss.heartbeat.layout import SCRATCH, STATUS_DIRECTORY, STEER_DIRECTORY, Worktree, worktree_of
from strawboss.system.files import FILE_MODE, make_private_directory
from strawboss.system.json_files import read_object

STEER_SCHEMAS = "deft.subagent.steer"


class NoPlaceError(Exception):
    """A directory that had to be there is not; one line says which, and what to do."""


def project_root(start: Path) -> Path:
    """The worktree one stands in: upwards the nearest that somebody was dispatched into, with AGENTS.md and vbrief, or
    linked to a clone; else the git top level; else `start`."""
    here = start.absolute()
    around = (here, *here.parents)
    tree = next(filter(_is_worktree, around), None) or next(filter(_is_git, around), None)
    return tree or here


def _is_worktree(directory: Path) -> bool:
    # A repository inside a worktree is a part of it, unless it was dispatched into: then its status directory says so.
    return (directory / STATUS_DIRECTORY).is_dir() or _is_project(directory) or _is_linked(directory)


def _is_project(directory: Path) -> bool:
    return (directory / "AGENTS.md").is_file() and (directory / "vbrief").is_dir()


def _is_git(directory: Path) -> bool:
    return (directory / ".git").exists()


def _is_linked(directory: Path) -> bool:
    return (gitdir := _gitdir(directory)) is not None and gitdir.parent.name == "worktrees"


def ledger_root(target: Path) -> Path:
    """The project whose ledger has the attempts on a target. The target alone decides, and not where one stands.

    Found upwards from it, a linked tree standing for its clone: the nearest directory with AGENTS.md and vbrief, else
    the git top level, else the target. Raises NoPlaceError for a target that is in none of them and not there.
    """
    found = _project_of(target)
    if found is None and not target.is_dir():
        raise NoPlaceError(f"{target} is not there and in no project; make it first, or give --project-root")
    return found or Path(os.path.realpath(target))


def ledger_roots(target: Path) -> tuple[Path, ...]:
    """Every project whose ledger may know a target, its own first: other tools write to that of where they stand."""
    here = Path(os.path.realpath(target))
    around = [one for one in (here, *here.parents, *_homes(target)) if _is_project(one) or _is_git(one)]
    return tuple(dict.fromkeys((_project_of(target) or here, *around)))


def _project_of(target: Path) -> Path | None:
    homes = list(_homes(target))
    return next(filter(_is_project, homes), None) or next(filter(_is_git, homes), None)


def _homes(target: Path) -> Iterator[Path]:
    """A target and what it lies in; of a linked tree on, its clone and what that lies in."""
    here = Path(os.path.realpath(target))
    for one in (here, *here.parents):
        if clone := _main_worktree(one):
            yield from (clone, *clone.parents)
            return
        yield one


def _main_worktree(root: Path) -> Path | None:
    """The clone of a linked tree, where it has its own `.git` in it."""
    clone = gitdir.parents[2] if (gitdir := _gitdir(root)) and _is_linked(root) else None
    return Path(os.path.realpath(clone)) if clone and (clone / ".git").is_dir() else None


def _gitdir(root: Path) -> Path | None:
    """What a `.git` names that is a file: of a linked tree `<clone>/.git/worktrees/<name>`."""
    try:
        text = (root / ".git").read_text(errors="replace")
    except OSError:
        return None
    return Path(root, text.removeprefix("gitdir:").strip().splitlines()[0] if text.strip() else "")


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
    if directory.is_dir() and not is_named(directory, STEER_DIRECTORY) and not _holds_steers(directory):
        raise NoPlaceError(f"{directory} is not a steer directory: another name, and no steer in it")


def is_named(directory: str | Path, place: Path) -> bool:
    """Whether a directory has the name that the contract gives to such a place, by itself or by what it links to."""
    return place.name in (Path(directory).name, Path(os.path.realpath(directory)).name)


def _holds_steers(directory: Path) -> bool:
    contents = map(read_object, directory.glob("*.json"))
    return any(isinstance(content, dict) and is_of_steers(content) for content in contents)


def is_of_steers(content: Mapping[str, object]) -> bool:
    """Whether a JSON object belongs to a steer inbox. By its schema alone: an agent may well be called `a.ack`."""
    schema = content.get("schema")
    return isinstance(schema, str) and schema.startswith(STEER_SCHEMAS)


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
