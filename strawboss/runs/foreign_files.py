"""Reading files that other programs own: regular ones only, never blocking, never more than expected.

Small files that a neighbour writes by itself (activity, script, sidecar, manifest) are never symbolic links, so one in
their place is not theirs and is not followed. Session files are followed: people do move and link their sessions.
Folders may be links everywhere. A FIFO, a device or a folder in a file's place is refused before a byte is read.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Generic, TypeVar

from strawboss.recovery.verdict import Unknown

T = TypeVar("T")
Signature = tuple[int, int, int]  # mtime in ns, size, inode

# A file changed less than this long ago may change again without a new mtime (clock ticks, reused inode).
SETTLED_NS = 1_000_000_000

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
}


class NotRegularError(OSError):
    """Something else lies where a regular file should be."""

    def __init__(self, mode: int) -> None:
        super().__init__(errno.EINVAL, f"it is {_KINDS.get(stat.S_IFMT(mode), 'a device')}, not a file")


def open_regular(path: str, *, follow: bool = False) -> FileIO:
    """The file opened for reading, unbuffered; raises OSError, or ValueError for a path no file can have."""
    descriptor = os.open(path, _FLAGS | (0 if follow else _NO_FOLLOW))
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise NotRegularError(mode)
        return FileIO(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def signature_of(status: os.stat_result) -> Signature:
    return status.st_mtime_ns, status.st_size, status.st_ino


def is_settled(status: os.stat_result) -> bool:
    """Whether an equal signature later proves an equal content."""
    return time.time_ns() - status.st_mtime_ns > SETTLED_NS


def unreadable(what: str, error: Exception) -> Unknown:
    """`what` names the file for a person: "its activity file"."""
    reason = getattr(error, "strerror", None) or "its path is not one a file can have"
    return Unknown(f"{what} cannot be read: {reason[0].lower()}{reason[1:]}")


def read_whole(path: str, what: str, limit: int) -> bytes | Unknown | None:
    """All bytes of a small file. None: it is not there. Unknown: not regular, unreadable, or over `limit` bytes."""
    try:
        with open_regular(path) as file:
            content = file.read(limit + 1) or b""
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        return unreadable(what, error)
    return content if len(content) <= limit else Unknown(f"{what} is larger than {limit} bytes")


def is_there(path: str, what: str) -> bool | Unknown:
    """Whether anything at all lies at `path`; Unknown when that cannot be told."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        if os.access(os.path.split(path)[0], os.F_OK):
            return False
        return Unknown(f"{what} cannot be looked for: its folder is not there", absent=True)
    except (OSError, ValueError) as error:
        return unreadable(what, error)
    return True


def _follow(path: str) -> os.stat_result:
    return Path(path).stat()


class Cache(Generic[T]):
    """What was read at each path, read again only when the signature there changed. What is Unknown is not kept."""

    def __init__(self, what: str, read: Callable[[str], T | Unknown | None], *, follow: bool = False) -> None:
        self._what, self._read = what, read
        self._stat: Callable[[str], os.stat_result] = _follow if follow else os.lstat
        self._known: dict[str, tuple[Signature, T | Unknown | None]] = {}

    def get(self, path: str) -> T | Unknown | None:
        """None: nothing is there."""
        try:
            status = self._stat(path)
            known = self._known.pop(path, None)
            if known is None or known[0] != signature_of(status):
                known = signature_of(status), self._read(path)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            return unreadable(self._what, error)
        if is_settled(status) and not isinstance(known[1], Unknown):
            self._known[path] = known
        return known[1]
