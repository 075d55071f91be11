"""A lock that the system lets go of with the process that holds it: who has the file open counts, not what is in it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from strawboss.system.files import FILE_MODE


class Lock:
    """One process at a time; the same lock as filelock's, which would cost the resident process 10 MiB of imports."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._descriptor: int | None = None

    def take(self) -> bool:
        """Whether it is ours now, without waiting; raises OSError where no lock can be had."""
        if self._descriptor is not None:
            return True
        descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT, FILE_MODE)
        try:
            _lock(descriptor)
        except (BlockingIOError, PermissionError):
            os.close(descriptor)
            return False
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """The file stays: to remove it under somebody who just opened it would make two locks of one."""
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = None


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
