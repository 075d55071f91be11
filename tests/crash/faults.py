"""Faults of calls to the neighbours: which call fails, how, and for how long.

The calls of one kind are counted; the Nth fails, once or from then on until `heal`. A fault of an act comes in two
forms, for what was asked may have been done before the failure or not.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import FileIO
from types import FrameType, SimpleNamespace
from typing import Any
from unittest.mock import patch

EXHAUSTIVE = bool(os.environ.get("STRAWBOSS_TEST_EXHAUSTIVE"))  # also every fault that is like another
ERRNOS = ("ENOSPC", "EACCES", "EINTR")
_LOST = ("timeout", "torn", "another's", *ERRNOS)
_LOST_ACTS = (*_LOST, *(f"done, {fault}" for fault in _LOST))

# What each kind of call can suffer. "timeout": no answer. "another's": a well-formed answer to another request.
FAULTS: Mapping[str, tuple[str, ...]] = {
    "pi ask": ("timeout", "torn", "another's", "late", "nonsense", "refused", "gone"),
    "pi act": (
        *_LOST_ACTS[:3],
        "late",
        "done, timeout",
        "done, torn",
        "done, refused",
        "refused",
        "done, gone",
        "gone",
    ),
    "herdr connect": ("timeout", *ERRNOS, "ENOENT"),
    "herdr panes": (*_LOST, "empty", "error"),
    "herdr processes": (*_LOST, "empty", "error"),
    "herdr act": (*_LOST_ACTS, "empty", "done, empty", "error", "done, error"),
    "broker connect": ("timeout", *ERRNOS, "ENOENT"),
    "broker say": ("timeout", *ERRNOS, "done, timeout", "done, EINTR"),
    "broker hear": (*_LOST, "empty", "error"),
    "disk look": (*ERRNOS, "EIO"),
    "disk read": (*ERRNOS, "torn"),
    "machine list": ERRNOS,
    "state look": ERRNOS,  # of the process's own directory, when a session starts
}


# Calls that are made again and again and change nothing: by default each of them fails in one way, in turn.
ALIKE = frozenset({"pi ask", "herdr connect", "disk look", "disk read", "state look"})


@dataclass(slots=True)
class Injector:
    """The `number`-th call of that kind suffers `fault`; `lasting`: every one after it too, until `heal`.

    Only what is called while it is `armed` counts. Calls that come one after another from the same `place` are
    neighbours: whichever of them fails, the place sees the same, so they count as one and the first one fails.
    """

    kind: str
    fault: str
    number: int
    lasting: bool
    count: int = 0
    armed: bool = True
    healed: bool = False
    place: object = None

    def strikes(self, kind: str, place: Callable[[], object] = lambda: None) -> str | None:
        """The fault of this call, if it is to have one. Every call to a neighbour asks here first."""
        if kind != self.kind or not self.armed:
            return None
        before, self.place = self.place, None if EXHAUSTIVE else place()
        is_next = self.place is None or self.place != before
        self.count += is_next
        hit = self.count >= self.number if self.lasting else is_next and self.count == self.number
        return self.fault if hit and not self.healed else None

    @property
    def has_struck(self) -> bool:
        return self.count >= self.number

    def heal(self) -> None:
        self.healed = True


def error_of(fault: str) -> OSError:
    """The exception a system call ends with."""
    if fault == "timeout":
        return TimeoutError("timed out")
    return OSError(getattr(errno, fault), os.strerror(getattr(errno, fault)))


def _lines(frame: FrameType | None) -> Iterator[tuple[object, int]]:
    """The lines of strawboss that a system call is made for: resolving a path makes eight calls for the same ones."""
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("strawboss."):
            yield frame.f_code, frame.f_lineno
        frame = frame.f_back


LOOKS = ("open", "fstat", "stat", "lstat", "readlink", "scandir", "listdir")


@contextmanager
def faulty_disk(injector: Injector, kind: Callable[[], str]) -> Iterator[None]:
    """With every system call that asks the disk passing the injector first. `kind`: what such a call counts as now."""

    def passes(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            fault = injector.strikes(kind(), lambda: tuple(_lines(sys._getframe(2))))
            if fault:
                raise error_of(fault)
            return real(*arguments, **named)

        return call

    with ExitStack() as stack:
        for name in LOOKS:
            stack.enter_context(patch.object(os, name, passes(getattr(os, name))))
        counted = os.scandir
        stack.enter_context(patch.object(os, "scandir", lambda *path: _Listing(counted(*path), passes)))
        yield


class _Listing:
    """A scandir whose entries pass the injector when they are looked at."""

    def __init__(self, real: Any, passes: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        self._real, self._passes = real, passes

    def __enter__(self) -> Iterator[Any]:
        return (
            SimpleNamespace(name=one.name, inode=one.inode, stat=self._passes(one.stat)) for one in self._real
        )

    def __exit__(self, *_: object) -> None:
        self._real.close()


def faulty_file(injector: Injector) -> type[FileIO]:
    """A FileIO whose reads pass the injector; a torn one gives half of what is there."""

    class FaultyFile(FileIO):
        def read(self, size: int | None = -1, /) -> bytes:
            fault = injector.strikes("disk read")
            if fault and fault != "torn":
                raise error_of(fault)
            data = super().read(size) or b""
            return data[: len(data) // 2] if fault else data

    return FaultyFile
