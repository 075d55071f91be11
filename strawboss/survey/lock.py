"""Whether somebody holds a lock, asked without taking it."""

from __future__ import annotations

import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    import filelock

    def is_held(file: Path) -> bool:
        """Whether a process holds it; what cannot be asked counts as held. No file: nobody does."""
        if not file.exists():
            return False
        lock = filelock.FileLock(file)
        try:
            lock.acquire(timeout=0)
        except (filelock.Timeout, OSError):
            return True
        lock.release()
        return False

else:

    def is_held(file: Path) -> bool:
        """Whether a process holds it; what cannot be asked counts as held. No file: nobody does.

        A shared lock is tried for a moment: two who ask do not see each other.
        """
        try:
            descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)
        return False
