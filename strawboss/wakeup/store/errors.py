"""What can go wrong with the store, as two kinds: it cannot be used now, or what was asked makes no sense."""

from __future__ import annotations


class StoreError(Exception):
    """Locked, full, gone, broken or too new; `str()` is one line without any of the data. Trying later may help."""


class RefusedError(Exception):
    """The store is well and says no: no such task, a circle of dependencies, not yours. `str()` is one line."""
