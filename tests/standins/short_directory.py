"""A temporary directory with a short name: a unix socket's path may have no more than 107 bytes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def short_directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as directory:
        yield Path(directory)
