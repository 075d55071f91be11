"""What a started session means for the core: the launcher, where its runs lie, and why nothing can be done for it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

from strawboss.config import Config
from strawboss.pi.protocol import PROTOCOL, Started
from strawboss.recovery.evidence import Launcher
from strawboss.runs.disk import Disk

NO_PATH = frozenset({errno.ENAMETOOLONG, errno.ELOOP})  # no file can be there
POLICY_SUFFIX = ".pi-herdr-subagent-policy.json"


def reason_to_stay_off(started: Started) -> str:
    """Why this session cannot be worked for; "" when it can."""
    if started.protocol != PROTOCOL:
        return (
            f"its extension speaks protocol {started.protocol}, this process {PROTOCOL}; "
            "run `strawboss install` and then /reload"
        )
    if not started.id:
        return "pi gave this session no id"
    return "" if started.file else "pi keeps no file for this session, so nothing can be written down"


def launcher_of(started: Started, config: Config, platform: str) -> Launcher:
    """Raises OSError while its session file, or what lies beside it, cannot be looked for."""
    assert started.file is not None
    resolve = resolver(started.cwd)
    file = resolve(started.file)
    return Launcher(
        id=started.id,
        name=started.name,
        file=file,
        cwd=started.cwd,
        pid=started.pids.get("pi"),
        pane=started.pane,
        platform=platform,
        tower=config.role == "tower",
        nested=_is_nested(file),
    )


def disk_of(
    launcher: Launcher, artifacts: str, oldest: float = 0.0, resolve: Callable[[str], str] | None = None
) -> Disk:
    """`oldest`: runs that have said nothing since (epoch seconds) are left out. `resolve`: in place of `resolver`."""
    return Disk(
        launcher.file,
        artifacts,
        lambda path: Path(launcher.cwd, path),
        resolve or resolver(launcher.cwd),
        launcher.id,
        oldest,
    )


def artifacts_directory(started: Started, file: str) -> str:
    """`artifacts/<session id>` beside the session file, unless it is only where pi keeps sessions now."""
    parents = [os.path.dirname(file), *([started.dir] if started.dir else [])]  # noqa: PTH120
    candidates = [os.path.join(parent, "artifacts", started.id) for parent in parents]  # noqa: PTH118
    return next((path for path in candidates if _may_be_there(path)), candidates[0])


def resolver(cwd: str) -> Callable[[str], str]:
    """Session files are compared in this form: absolute, no `..`, no symlinks; relative ones are the launcher's.

    Raises OSError where a link on the way cannot be looked at: the path as it stands would compare as another file.
    """
    return lambda path: _resolved(Path(cwd, path))


def resolver_of_one_look(cwd: str) -> Callable[[str], str]:
    """The same while no folder moves: each is looked for once, and a file in it costs one `lstat`."""
    exact = resolver(cwd)
    folders: dict[str, str] = {}

    def resolve(path: str) -> str:
        folder, name = os.path.split(os.path.join(cwd, path))  # noqa: PTH118 - of a thousand results each
        if name in ("", ".", ".."):
            return exact(path)
        if folder not in folders:
            folders[folder] = exact(folder)
        file = f"{folders[folder].rstrip('/')}/{name}"
        return exact(path) if _is_more_than_a_file(file) else file

    return resolve


def _is_more_than_a_file(file: str) -> bool:
    """A link, or what cannot be looked at."""
    try:
        return stat.S_ISLNK(os.lstat(file).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True


def _resolved(path: Path) -> str:
    for there in (path, *path.parents):
        try:
            real = os.path.realpath(there, strict=True)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            if error.errno in NO_PATH:
                return str(path)
            raise
        return os.path.normpath(Path(real, path.relative_to(there)))
    raise FileNotFoundError(errno.ENOENT, "its folder is gone")


def _is_nested(file: str) -> bool:
    """Whether a policy sidecar, or anything in its place, says the session is a subagent's; raises OSError."""
    try:
        os.lstat(file + POLICY_SUFFIX)
    except FileNotFoundError:
        return False
    return True


def _may_be_there(path: str) -> bool:
    """What cannot be looked for counts as there: who then reads it says why it cannot."""
    try:
        os.stat(path)  # noqa: PTH116 - at every look
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
