"""A read-only agent cannot write to its workspace: Landlock holds its command to that, where the kernel has it.

Landlock knows only what is allowed. So everything beside the way down to the workspace may be written to as before, and
the workspace, and what would have to be made directly in a directory above it, may not.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

# include/uapi/linux/landlock.h; the numbers of the system calls are the same on every architecture.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
VERSION_FLAG = 1
PATH_BENEATH = 1
WRITE_FILE, TRUNCATE = 1 << 1, 1 << 14
REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 13))
REFER = 1 << 13
SET_NO_NEW_PRIVS = 38


@cache
def enforceable() -> bool:
    """Whether this kernel can hold a process to that. The first version could not keep a file from being truncated."""
    return sys.platform.startswith("linux") and _call(CREATE_RULESET, None, 0, VERSION_FLAG) >= 3


def read_only(workspace: Path, writable: Path) -> tuple[int, Callable[[], None]]:
    """A descriptor to close when the process has started, and what it has to call before its program.

    `writable` may be written to even where it lies inside the workspace. Raises OSError.
    """
    everything = WRITE_FILE | TRUNCATE | REMOVE_AND_MAKE | REFER
    attributes = struct.pack("QQQ", everything, 0, 0)
    ruleset = _checked(_call(CREATE_RULESET, attributes, 8, 0))
    try:
        for path in _beside(workspace.resolve(), writable.resolve()):
            _allow(ruleset, path, everything if path.is_dir() else WRITE_FILE | TRUNCATE)
    except BaseException:
        os.close(ruleset)
        raise
    return ruleset, lambda: _restrict(ruleset)


def _beside(workspace: Path, writable: Path) -> Iterator[Path]:
    on_the_way = {workspace, *workspace.parents}
    for directory in workspace.parents:
        yield from (path for path in _entries(directory) if path not in on_the_way)
    if not workspace.is_relative_to(writable):
        yield writable


def _entries(directory: Path) -> Iterable[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(directory) if not entry.is_symlink()]
    except OSError:  # what we may not list, its command may not either
        return []


def _allow(ruleset: int, path: Path, access: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # gone since, or closed to us
    try:
        _call(ADD_RULE, ruleset, PATH_BENEATH, struct.pack("=Qi", access, descriptor), 0)
    finally:
        os.close(descriptor)


def _restrict(ruleset: int) -> None:
    # In the child, between fork and exec.
    ctypes.CDLL(None).prctl(SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _checked(_call(RESTRICT_SELF, ruleset, 0))


def _call(number: int, *arguments: bytes | int | None) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    words = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    return int(library.syscall(ctypes.c_long(number), *words))


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
